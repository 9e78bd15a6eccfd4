// S3-FIFO: a small queue (a tenth of the capacity) for newcomers, a main queue, and a ghost queue
// of keys that left the small one (nine tenths, by size). A hit only counts. The small queue's
// oldest moves to main when it was hit twice, else it becomes a ghost; a key that returns while it
// is a ghost enters main; main's oldest is put back as long as it was hit, at most three times.
// Blocks larger than the small queue are not cached, and one just as large is evicted for, then
// dropped; so nothing is cached below a capacity of 20. A pinned block keeps place and count. As
// libCacheSim has it, threshold 2; left out: its other thresholds and queue shares.
#include <algorithm>

#include "policies/ghost_list.hpp"
#include "policies/replay_loop.hpp"
#include "policies/slot_queues.hpp"

namespace refrain {
namespace {

class s3fifo final : public eviction {
 public:
  s3fifo(const parameters&, const eviction_setup& setup)
      : small_share_{setup.capacity / 10},
        main_share_{setup.capacity - small_share_},
        ghost_share_{setup.capacity * 9 / 10},
        queues_{setup.slots},
        counts_(setup.slots),
        ghosts_{most_ghosts(setup), most_ghosts(setup) / 8} {}

  bool on_miss(const entry_view& seen) override {
    returned_ = ghosts_.take(seen.key) != ghost_list::none;
    return returned_ || (seen.size <= small_share_ && small_share_ > 1);
  }
  bool on_room(const entry_view& seen) override { return returned_ || seen.size < small_share_; }

  void on_insert(slot_id slot, const entry_view& seen) override {
    if (seen.size != 1 || !sizes_.empty()) {
      remember_size(slot, seen.size);
    }
    counts_[slot] = 0;
    push(returned_ ? main : small, slot);
    returned_ = false;
  }
  void on_hit(slot_id slot, const entry_view&) override {
    counts_[slot] = static_cast<std::uint8_t>(std::min(counts_[slot] + 1, 3));
  }
  void on_pin(slot_id slot) override { queues_.pin(slot); }
  void on_unpin(slot_id slot) override { queues_.unpin(slot); }

  slot_id victim() override {
    for (;;) {
      slot_id oldest = queues_.oldest(small);
      if (oldest == no_slot || units_[main] > main_share_) {
        if (slot_id found = main_victim(); found != no_slot) {
          return found;
        }
      }
      if (slot_id found = small_victim(oldest); found != no_slot) {
        return found;
      }
    }
  }
  void on_evict(slot_id slot, block_key key) override {
    ghosts_.prefetch(key);
    if (queues_.queue_of(slot) == small) {
      remember(key, size_of(slot));
    }
    on_remove(slot);
  }
  slot_id near_victim() const { return queues_.near_oldest(small); }
  void on_remove(slot_id slot) override {
    units_[queues_.queue_of(slot)] -= size_of(slot);
    queues_.erase(slot);
  }

 private:
  static constexpr std::uint32_t small = 0;
  static constexpr std::uint32_t main = 1;

  static std::uint32_t most_ghosts(const eviction_setup& setup) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(setup.capacity * 9 / 10, setup.slots));
  }

  // Counts end at 3, so this ends; only the small queue may be without an unpinned block.
  slot_id main_victim() {
    for (slot_id slot; (slot = queues_.oldest(main)) != no_slot;) {
      if (counts_[slot] == 0) {
        return slot;
      }
      --counts_[slot];
      queues_.erase(slot);
      queues_.push(main, slot);
    }
    return no_slot;
  }
  slot_id small_victim(slot_id oldest) {
    for (; oldest != no_slot; oldest = queues_.oldest(small)) {
      if (counts_[oldest] < 2) {
        return oldest;
      }
      counts_[oldest] = 0;
      on_remove(oldest);
      push(main, oldest);
    }
    return no_slot;
  }

  void push(std::uint32_t queue, slot_id slot) {
    queues_.push(queue, slot);
    units_[queue] += size_of(slot);
  }
  void remember(block_key key, std::uint32_t size) {
    if (size > ghost_share_) {
      return;
    }
    while (ghosts_.count(0) > 0 && (ghosts_.full() || ghosts_.units(0) + size > ghost_share_)) {
      ghosts_.drop_oldest(0);
    }
    ghosts_.push(0, key, size);
  }

  std::uint32_t size_of(slot_id slot) const { return sizes_.empty() ? 1 : sizes_[slot]; }
  void remember_size(slot_id slot, std::uint32_t size) {
    if (sizes_.empty()) {
      sizes_.resize(counts_.size(), 1);
    }
    sizes_[slot] = size;
  }

  std::int64_t small_share_;
  std::int64_t main_share_;
  std::int64_t ghost_share_;
  std::int64_t units_[2] = {0, 0};
  slot_queues queues_;
  std::vector<std::uint8_t> counts_;  // hits, 3 and more alike
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  ghost_list ghosts_;
  bool returned_ = false;  // what is inserted next was a ghost
};

const register_eviction<s3fifo> registration{policy_info{
    .name = "s3fifo",
    .summary = "a small queue sifts newcomers; what was hit twice or returns lives in main",
    .source = "Yang et al., FIFO queues are all you need, SOSP 2023; libCacheSim",
    .truth = {{"S", "flat", 200, 92516},
              {"S", "flat", 2000, 50694},
              {"SX", "flat", 6500, 93303, 3067375},
              {"conversation", "flat", 1000, 272459},
              {"conversation", "flat", 10000, 232110},
              {"synthetic", "flat", 1000, 111354}}}};

}  // namespace
}  // namespace refrain
