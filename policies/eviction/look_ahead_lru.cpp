// Look-ahead LRU: blocks that a queued request holds are protected; among the rest, and among the
// protected when nothing else is left, the least recently used gives way (PCR's rule). In replay
// the queue is the next `window` requests of the trace, in a run the executor's first `window`
// waiting ones.
#include "policies/indexed_heap.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class look_ahead_lru final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.queue = static_cast<std::uint32_t>(values.integer("window"))};
  }

  look_ahead_lru(const parameters&, const eviction_setup& setup)
      : entries_(setup.slots), evictable_{setup.slots} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    entries_[slot] = {.last = 0, .wanted = seen.wanted > 0, .pinned = false};
    touch(slot);
  }
  void on_hit(slot_id slot, const entry_view&) override { touch(slot); }
  void on_pin(slot_id slot) override {
    entries_[slot].pinned = true;
    evictable_.erase(slot);
  }
  void on_unpin(slot_id slot) override {
    entries_[slot].pinned = false;
    touch(slot);
  }
  void on_want(slot_id slot) override { set_wanted(slot, true); }
  void on_unwant(slot_id slot) override { set_wanted(slot, false); }
  slot_id victim() override { return evictable_.top(); }
  void on_remove(slot_id slot) override { evictable_.erase(slot); }

 private:
  struct entry {
    std::uint64_t last : 62;
    bool wanted : 1;
    bool pinned : 1;
  };

  void touch(slot_id slot) {
    entries_[slot].last = ++clock_ & ~(std::uint64_t{3} << 62);
    offer(slot);
  }
  void set_wanted(slot_id slot, bool wanted) {
    entries_[slot].wanted = wanted;
    offer(slot);
  }
  void offer(slot_id slot) {
    const entry& e = entries_[slot];
    if (!e.pinned) {
      evictable_.set(slot, std::uint64_t{e.wanted} << 63 | e.last);
    }
  }

  std::uint64_t clock_ = 0;
  std::vector<entry> entries_;
  indexed_heap<std::uint64_t> evictable_;
};

const register_eviction<look_ahead_lru> registration{
    policy_info{.name = "look_ahead_lru",
                .summary = "protects blocks that queued requests hold, the rest is LRU",
                .source = "PCR (prefetch and look-ahead LRU over the waiting queue)",
                .parameters = {{.name = "window",
                                .type = parameter_type::integer,
                                .standard = "128",
                                .description = "requests of the queue that protect their blocks",
                                .low = 1,
                                .high = 1e6}}}};

}  // namespace
}  // namespace refrain
