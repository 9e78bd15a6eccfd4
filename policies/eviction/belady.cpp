// Belady in a run: the block whose next use in trace order is farthest gives way, ties deepest
// first. It knows the trace but not the timing, so it is clairvoyant and no bound on latency. A use
// that passed without coming here (another executor served it) is replaced by the one after it.
#include "policies/indexed_heap.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class belady final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.future = true}; }

  belady(const parameters&, const eviction_setup& setup)
      : ahead_{*setup.ahead},
        entries_(setup.slots),
        farthest_{setup.slots},
        soonest_{setup.slots} {}

  void begin_request(const request_view& request) override {
    row_ = std::max(row_, request.id);
    while (!soonest_.empty() && soonest_.top_priority() < row_) {
      offer(soonest_.top());
    }
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    entries_[slot] = {.key = seen.key, .depth = seen.depth};
    offer(slot);
  }
  void on_hit(slot_id slot, const entry_view&) override { offer(slot); }
  void on_pin(slot_id slot) override {
    entries_[slot].pinned = true;
    withdraw(slot);
  }
  void on_unpin(slot_id slot) override {
    entries_[slot].pinned = false;
    offer(slot);
  }
  slot_id victim() override { return farthest_.top(); }
  void on_remove(slot_id slot) override { withdraw(slot); }

 private:
  struct entry {
    block_key key;
    std::uint32_t depth = 0;
    bool pinned = false;
  };
  struct rank {
    std::uint64_t next;
    std::uint32_t depth;
    friend bool operator<(const rank& a, const rank& b) {
      return a.next != b.next ? a.next > b.next : a.depth > b.depth;
    }
  };

  void withdraw(slot_id slot) {
    farthest_.erase(slot);
    soonest_.erase(slot);
  }
  void offer(slot_id slot) {
    const entry& e = entries_[slot];
    if (e.pinned) {
      return;
    }
    std::uint64_t next = ahead_.next_use(e.key, row_);
    farthest_.set(slot, {next, e.depth});
    soonest_.set(slot, next);
  }

  const future& ahead_;
  request_id row_;
  std::vector<entry> entries_;
  indexed_heap<rank> farthest_;
  indexed_heap<std::uint64_t> soonest_;
};

const register_run_eviction<belady> registration{policy_info{
    .name = "belady",
    .summary = "evicts the block whose next use in trace order is farthest (clairvoyant)",
    .source = "Belady, IBM Systems Journal 1966; ties deepest first on prefix chains"}};

}  // namespace
}  // namespace refrain
