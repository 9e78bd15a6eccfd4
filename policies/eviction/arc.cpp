// ARC, the adaptive replacement cache: blocks seen once lately (T1) and oftener (T2), each in order
// of last use, each followed by ghosts of what left it (B1, B2). A hit on a ghost moves the target
// size p of T1 towards the list that it would have been a hit in. As libCacheSim has it for blocks
// of different sizes: sizes in units of the capacity, p a real number, one ghost forgotten per
// eviction. A pinned block keeps its list and is its most recent when unpinned. Left out: more
// ghosts than the cache has slots (they can occur with mixed sizes and in runs only).
#include <algorithm>

#include "policies/ghost_list.hpp"
#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class arc final : public eviction {
 public:
  arc(const parameters&, const eviction_setup& setup)
      : capacity_{setup.capacity},
        order_{setup.slots, 2},
        lists_(setup.slots),
        ghosts_{setup.slots + 1, setup.slots / 2} {}

  bool on_miss(const entry_view& seen) override {
    arriving_ = seen.size;
    auto once_units = static_cast<double>(ghosts_.units(once));
    auto often_units = static_cast<double>(ghosts_.units(often));
    ghost_of_ = ghosts_.take(seen.key);
    if (ghost_of_ == once) {
      target_ = std::min(target_ + std::max(often_units / once_units, 1.0),
                         static_cast<double>(capacity_));
    } else if (ghost_of_ == often) {
      target_ = std::max(target_ - std::max(once_units / often_units, 1.0), 0.0);
    }
    return true;
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    if (seen.size != 1 || !sizes_.empty()) {
      remember_size(slot, seen.size);
    }
    std::uint32_t list = ghost_of_ == ghost_list::none ? once : often;
    enlist(slot, list);
    order_.push_front(list, slot);
    ghost_of_ = ghost_list::none;
    arriving_ = 1;
  }
  void on_hit(slot_id slot, const entry_view&) override {
    if (lists_[slot] == once) {
      units_[once] -= size_of(slot);
      enlist(slot, often);
    }
    if (order_.linked(slot)) {
      order_.erase(slot);
      order_.push_front(often, slot);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { order_.push_front(lists_[slot], slot); }

  slot_id victim() override {
    forget_ = ghost_list::none;
    remember_ = true;
    if (ghost_of_ == ghost_list::none) {
      if (units_[once] + ghosts_.units(once) + arriving_ > capacity_) {
        if (ghosts_.count(once) == 0 && !order_.empty(once)) {
          remember_ = false;
          return order_.back(once);
        }
        forget_ = once;
      } else if (units_[once] + units_[often] + ghosts_.units(once) + ghosts_.units(often) >=
                 2 * capacity_) {
        forget_ = often;
      }
    }
    return order_.back(list_to_shrink());
  }
  void on_evict(slot_id slot, block_key key) override {
    ghosts_.prefetch(key);
    if (forget_ != ghost_list::none && ghosts_.count(forget_) > 0) {
      ghosts_.drop_oldest(forget_);
    }
    if (remember_) {
      if (ghosts_.full()) {
        ghosts_.drop_oldest(ghosts_.count(once) > ghosts_.count(often) ? once : often);
      }
      ghosts_.push(lists_[slot], key, size_of(slot));
    }
    on_remove(slot);
  }
  void on_remove(slot_id slot) override {
    units_[lists_[slot]] -= size_of(slot);
    order_.erase(slot);
  }

 private:
  static constexpr std::uint32_t once = 0;   // T1 and B1
  static constexpr std::uint32_t often = 1;  // T2 and B2

  std::uint32_t list_to_shrink() const {
    auto size = static_cast<double>(units_[once]);
    bool from_once =
        units_[once] > 0 && (size > target_ || (size == target_ && ghost_of_ == often));
    std::uint32_t list = from_once || units_[often] == 0 ? once : often;
    return order_.empty(list) ? 1 - list : list;
  }

  void enlist(slot_id slot, std::uint32_t list) {
    lists_[slot] = static_cast<std::uint8_t>(list);
    units_[list] += size_of(slot);
  }

  std::uint32_t size_of(slot_id slot) const { return sizes_.empty() ? 1 : sizes_[slot]; }
  void remember_size(slot_id slot, std::uint32_t size) {
    if (sizes_.empty()) {
      sizes_.resize(lists_.size(), 1);
    }
    sizes_[slot] = size;
  }

  std::int64_t capacity_;
  double target_ = 0;  // p
  std::int64_t units_[2] = {0, 0};
  slot_lists order_;
  std::vector<std::uint8_t> lists_;
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  ghost_list ghosts_;
  std::uint32_t arriving_ = 1;                 // size of what is inserted next
  std::uint32_t ghost_of_ = ghost_list::none;  // the ghost list that it was found in
  std::uint32_t forget_ = ghost_list::none;    // list whose oldest ghost this eviction forgets
  bool remember_ = true;                       // whether the victim becomes a ghost
};

const register_eviction<arc> registration{
    policy_info{.name = "arc",
                .summary = "balances recency and frequency by hits on what it evicted",
                .source = "Megiddo and Modha, ARC, FAST 2003; sizes as in libCacheSim",
                .truth = {{"S", "flat", 200, 93683},
                          {"S", "flat", 2000, 51432},
                          {"SX", "flat", 6500, 95766, 3160099},
                          {"conversation", "flat", 1000, 273225},
                          {"conversation", "flat", 10000, 224295},
                          {"synthetic", "flat", 1000, 110502}}}};

}  // namespace
}  // namespace refrain
