// 2Q: a newcomer enters A1in, a FIFO queue with a share of the capacity, and hits there change
// nothing; the key of what leaves it is remembered in A1out, a FIFO queue of ghosts; a key that
// returns while it is a ghost enters Am, which is LRU. A1in gives way while it holds more than its
// share, else Am. As libCacheSim has it: shares by size, rounded down; a ghost larger than A1out is
// not kept; an object larger than A1in's share is not cached, so nothing is below a capacity of 4;
// Am never exceeds what A1in leaves. A pinned block keeps its place in
// A1in, and is Am's most recent when unpinned.
#include "policies/ghost_list.hpp"
#include "policies/ranked.hpp"
#include "policies/slot_list.hpp"
#include "policies/slot_queues.hpp"

namespace refrain {
namespace {

class two_q final : public eviction {
 public:
  two_q(const parameters& values, const eviction_setup& setup)
      : in_share_{share(setup, values.real("in_share"))},
        often_share_{setup.capacity - in_share_},
        out_share_{share(setup, values.real("out_share"))},
        in_{setup.slots},
        often_{setup.slots, 1},
        is_often_(setup.slots),
        sizes_{setup.slots},
        ghosts_{most_ghosts(setup, out_share_), most_ghosts(setup, out_share_) / 8} {}

  bool on_miss(const entry_view& seen) override {
    returned_ = ghosts_.take(seen.key) != ghost_list::none;
    return seen.size <= in_share_;
  }
  bool is_crowded(const entry_view& seen) override {
    from_often_ = returned_ && often_units_ + seen.size > often_share_ && !often_.empty(0);
    return from_often_;
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    sizes_.set(slot, seen.size);
    is_often_[slot] = returned_;
    if (returned_) {
      often_.push_front(0, slot);
      often_units_ += seen.size;
    } else {
      in_.push(0, slot);
      in_units_ += seen.size;
    }
    returned_ = from_often_ = false;
  }
  void on_hit(slot_id slot, const entry_view&) override {
    if (is_often_[slot] && often_.linked(slot)) {
      often_.erase(slot);
      often_.push_front(0, slot);
    }
  }
  void on_pin(slot_id slot) override {
    if (is_often_[slot]) {
      often_.detach(slot);
    } else {
      in_.pin(slot);
    }
  }
  void on_unpin(slot_id slot) override {
    if (is_often_[slot]) {
      often_.push_front(0, slot);
    } else {
      in_.unpin(slot);
    }
  }
  slot_id victim() override {
    if (from_often_ || (in_units_ <= in_share_ && !often_.empty(0))) {
      return often_.back(0);
    }
    slot_id first = in_.oldest(0);
    return first == no_slot ? often_.back(0) : first;
  }
  void on_evict(slot_id slot, block_key key) override {
    if (!is_often_[slot]) {
      remember(key, sizes_[slot]);
    }
    on_remove(slot);
  }
  slot_id near_victim() const { return in_.near_oldest(0); }
  void on_remove(slot_id slot) override {
    if (is_often_[slot]) {
      often_units_ -= sizes_[slot];
      often_.erase(slot);
    } else {
      in_units_ -= sizes_[slot];
      in_.erase(slot);
    }
  }

 private:
  static std::int64_t share(const eviction_setup& setup, double of) {
    return static_cast<std::int64_t>(static_cast<double>(setup.capacity) * of);
  }
  static std::uint32_t most_ghosts(const eviction_setup& setup, std::int64_t most) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(most, setup.slots));
  }

  void remember(block_key key, std::uint32_t size) {
    if (size > out_share_) {
      return;
    }
    while (ghosts_.count(0) > 0 && (ghosts_.full() || ghosts_.units(0) + size > out_share_)) {
      ghosts_.drop_oldest(0);
    }
    ghosts_.push(0, key, size);
  }

  std::int64_t in_share_;
  std::int64_t often_share_;
  std::int64_t out_share_;
  std::int64_t in_units_ = 0;
  std::int64_t often_units_ = 0;
  slot_queues in_;    // A1in
  slot_lists often_;  // Am
  std::vector<std::uint8_t> is_often_;
  slot_sizes sizes_;
  ghost_list ghosts_;        // A1out
  bool returned_ = false;    // what is inserted next was a ghost
  bool from_often_ = false;  // it exceeds Am's share, so Am must give way
};

const register_eviction<two_q> registration{policy_info{
    .name = "two_q",
    .summary = "a FIFO queue sifts newcomers; what returns after it left lives in an LRU list",
    .source = "Johnson and Shasha, 2Q, VLDB 1994; shares and sizes as in libCacheSim",
    .parameters = {{.name = "in_share",
                    .type = parameter_type::real,
                    .standard = "0.25",
                    .description = "share of the capacity that newcomers have",
                    .low = 0,
                    .high = 1},
                   {.name = "out_share",
                    .type = parameter_type::real,
                    .standard = "0.5",
                    .description = "size of the ghosts that are remembered, by the capacity",
                    .low = 0,
                    .high = 1}},
    .truth = {{"S", "flat", 200, 96263},
              {"S", "flat", 2000, 53603},
              {"SX", "flat", 6500, 97071},
              {"conversation", "flat", 1000, 272886},
              {"conversation", "flat", 10000, 235162},
              {"synthetic", "flat", 1000, 111407}}}};

}  // namespace
}  // namespace refrain
