// LFU: the block with the fewest accesses since it was inserted gives way (its insertion counts as
// one), ties by least recent access. Under leaf scope only blocks without resident children give
// way, all blocks of a request share its time, and ties go to the deepest block, as in a radix
// tree; with history kept a block's count goes on when it returns. Left out: aging.
#include <absl/container/flat_hash_map.h>

#include "policies/indexed_heap.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class lfu final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.tree = values.choice("scope") == "leaf"};
  }

  lfu(const parameters& values, const eviction_setup& setup)
      : leaf_{values.choice("scope") == "leaf"},
        history_{values.choice("history") == "kept"},
        entries_(setup.slots),
        evictable_{setup.slots} {}

  void begin_request(const request_view&) override { ++clock_; }

  void on_insert(slot_id slot, const entry_view& seen) override {
    entries_[slot] = {
        .key = seen.key, .parent = leaf_ ? seen.parent : no_slot, .depth = seen.depth};
    if (history_) {
      if (auto found = past_.find(seen.key); found != past_.end()) {
        entries_[slot].count = found->second;
      }
    }
    if (entries_[slot].parent != no_slot) {
      ++entries_[entries_[slot].parent].children;
      offer(entries_[slot].parent);
    }
    touch(slot);
  }
  void on_hit(slot_id slot, const entry_view&) override { touch(slot); }
  void on_pin(slot_id slot) override {
    entries_[slot].pinned = true;
    offer(slot);
  }
  void on_unpin(slot_id slot) override {
    entries_[slot].pinned = false;
    offer(slot);
  }
  slot_id victim() override { return evictable_.empty() ? no_slot : evictable_.top(); }
  void on_remove(slot_id slot) override {
    evictable_.erase(slot);
    const entry& gone = entries_[slot];
    if (history_) {
      past_[gone.key] = gone.count;
    }
    if (gone.parent != no_slot) {
      --entries_[gone.parent].children;
      offer(gone.parent);
    }
  }

 private:
  struct entry {
    block_key key;
    std::uint64_t count = 0;
    std::uint64_t last = 0;
    slot_id parent = no_slot;
    std::uint32_t depth = 0;
    std::uint32_t children = 0;
    bool pinned = false;
  };
  struct rank {
    std::uint64_t count;
    std::uint64_t last;
    std::uint32_t shallowness;
    friend auto operator<=>(const rank&, const rank&) = default;
  };

  void touch(slot_id slot) {
    ++entries_[slot].count;
    entries_[slot].last = leaf_ ? clock_ : ++clock_;
    offer(slot);
  }

  void offer(slot_id slot) {
    const entry& e = entries_[slot];
    if (e.pinned || e.children > 0) {
      evictable_.erase(slot);
    } else {
      evictable_.set(slot, {e.count, e.last, leaf_ ? UINT32_MAX - e.depth : 0});
    }
  }

  bool leaf_;
  bool history_;
  std::uint64_t clock_ = 0;
  std::vector<entry> entries_;
  indexed_heap<rank> evictable_;
  absl::flat_hash_map<block_key, std::uint64_t, key_hash> past_;
};

const register_eviction<lfu> registration{policy_info{
    .name = "lfu",
    .summary = "evicts the block with the fewest accesses, ties by least recent access",
    .source = "Aho, Denning and Ullman, JACM 1971; leaf scope as SGLang's radix cache",
    .parameters = {{.name = "scope",
                    .type = parameter_type::choice,
                    .standard = "flat",
                    .description = "leaf: a block with resident children is no victim",
                    .choices = {"flat", "leaf"}},
                   {.name = "history",
                    .type = parameter_type::choice,
                    .standard = "forgotten",
                    .description = "kept: counts survive eviction (grows with unique blocks)",
                    .choices = {"forgotten", "kept"}}},
    .truth = {{"S", "flat", 200, 92887},
              {"S", "flat", 2000, 50925},
              {"SX", "flat", 6500, 93752, 3092153},
              {"conversation", "flat", 1000, 274629},
              {"conversation", "flat", 10000, 250487},
              {"synthetic", "flat", 1000, 116992}}}};

}  // namespace
}  // namespace refrain
