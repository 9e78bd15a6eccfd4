// W-TinyLFU: a newcomer enters a window, an LRU list with a hundredth of the capacity; what leaves
// the window enters the main cache, a segmented LRU, only if it was used more often lately than the
// block that it would replace. Uses are counted in a sketch that is halved every 32 times the main
// capacity. As libCacheSim has it: a hit in the window is not counted, a block is counted again
// when it leaves the window, the main cache is full before anything is compared, and the segments
// have a fifth and four fifths of it (so nothing is cached below a capacity of 6). Blocks larger
// than the window are not cached; it has room for one at least. A pinned block keeps its segment
// and is its most recent when unpinned. Counts depend on the keys, through collisions in the
// sketch.
#include <algorithm>

#include "policies/counting_filter.hpp"
#include "policies/ranked.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class w_tinylfu final : public eviction {
 public:
  w_tinylfu(const parameters& values, const eviction_setup& setup)
      : window_share_{std::max<std::int64_t>(
            1, static_cast<std::int64_t>(static_cast<double>(setup.capacity) *
                                         values.real("window")))},
        main_share_{std::max<std::int64_t>(0, setup.capacity - window_share_)},
        shares_{window_share_, main_share_ / 5,
                static_cast<std::int64_t>(0.8 * static_cast<double>(main_share_))},
        order_{setup.slots, 3},
        lists_(setup.slots),
        keys_(setup.slots),
        sizes_{setup.slots},
        uses_{main_share_},
        sample_{32 * main_share_} {}

  bool on_miss(const entry_view& seen) override {
    return seen.size <= window_share_ && seen.size <= shares_[probation];
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    cooled_ = false;
    sizes_.set(slot, seen.size);
    keys_[slot] = seen.key;
    enter(window, slot);
    uses_.add(seen.key);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    std::uint32_t list = lists_[slot];
    bool listed = order_.linked(slot);
    if (listed) {
      leave(slot);
      enter(list == probation ? guarded : list, slot);
      cool();
    }
    if (list != window) {
      uses_.add(keys_[slot]);
      if (++counted_ >= sample_) {
        counted_ = 0;
        uses_.halve();
      }
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { order_.push_front(lists_[slot], slot); }

  /// Where shares were rounded down a block cooled by a hit may find no room below.
  bool has_expired() override {
    return cooled_ && units_[probation] > shares_[probation] && !order_.empty(probation);
  }
  slot_id victim() override {
    if (has_expired()) {
      return main_victim();
    }
    for (;;) {
      if (order_.empty(window)) {
        return main_victim();
      }
      slot_id leaving = order_.back(window);
      slot_id least = main_victim();
      if (units_[probation] + units_[guarded] + sizes_[leaving] <= main_share_ ||
          least == no_slot) {
        leave(leaving);
        enter_main(leaving);
        uses_.add(keys_[leaving]);
        if (order_.empty(window) && main_victim() == no_slot) {
          return leaving;
        }
        continue;
      }
      bool enters = uses_.count(keys_[leaving]) > uses_.count(keys_[least]);
      uses_.add(keys_[leaving]);
      if (!enters) {
        return leaving;
      }
      promoted_ = leaving;
      return least;
    }
  }
  void on_remove(slot_id slot) override {
    leave(slot);
    if (promoted_ != no_slot && promoted_ != slot) {
      leave(promoted_);
      enter_main(promoted_);
    }
    promoted_ = no_slot;
  }

 private:
  static constexpr std::uint32_t window = 0;
  static constexpr std::uint32_t probation = 1;
  static constexpr std::uint32_t guarded = 2;

  slot_id main_victim() const {
    std::uint32_t list = order_.empty(probation) ? guarded : probation;
    return order_.empty(list) ? no_slot : order_.back(list);
  }
  void enter(std::uint32_t list, slot_id slot) {
    lists_[slot] = static_cast<std::uint8_t>(list);
    units_[list] += sizes_[slot];
    order_.push_front(list, slot);
  }
  // The lowest segment that has room.
  void enter_main(slot_id slot) {
    bool low = units_[probation] + sizes_[slot] <= shares_[probation];
    bool high = units_[guarded] + sizes_[slot] <= shares_[guarded];
    enter(low || !high ? probation : guarded, slot);
  }
  void leave(slot_id slot) {
    units_[lists_[slot]] -= sizes_[slot];
    order_.erase(slot);
  }
  void cool() {
    cooled_ = units_[guarded] > shares_[guarded];
    while (units_[guarded] > shares_[guarded] && !order_.empty(guarded)) {
      slot_id oldest = order_.back(guarded);
      leave(oldest);
      enter(probation, oldest);
    }
  }

  std::int64_t window_share_;
  std::int64_t main_share_;
  std::int64_t shares_[3];
  std::int64_t units_[3] = {0, 0, 0};
  slot_lists order_;
  std::vector<std::uint8_t> lists_;
  std::vector<block_key> keys_;
  slot_sizes sizes_;
  counting_filter uses_;
  std::int64_t sample_;
  std::int64_t counted_ = 0;
  bool cooled_ = false;         // the last hit sent a block back to the lower segment
  slot_id promoted_ = no_slot;  // leaves the window for the main cache when the victim is gone
};

const register_eviction<w_tinylfu> registration{
    policy_info{.name = "w_tinylfu",
                .summary = "a window before a segmented LRU that only more frequent blocks enter",
                .source = "Einziger, Friedman and Manes, ACM TOS 2017; details as in libCacheSim",
                .parameters = {{.name = "window",
                                .type = parameter_type::real,
                                .standard = "0.01",
                                .description = "share of the capacity that newcomers have",
                                .low = 0,
                                .high = 0.99}},
                .truth = {{"S", "flat", 200, 92748}, {"S", "flat", 2000, 50018}}}};

}  // namespace
}  // namespace refrain
