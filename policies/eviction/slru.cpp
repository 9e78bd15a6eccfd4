// Segmented LRU: blocks that were hit `protected_hits` times or more (the insertion is no hit) are
// protected; the least recently used of the others gives way, and of the protected when there are
// no others. Under leaf scope only blocks without resident children give way, in order of last
// request, the deepest first; with history kept a block's hits go on when it returns. As SGLang's
// radix cache ranks by (hits >= 2, last access): no segment has a share of its own.
#include <absl/container/flat_hash_map.h>

#include "policies/ranking.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class slru final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.tree = values.choice("scope") == "leaf"};
  }

  slru(const parameters& values, const eviction_setup& setup)
      : leaf_{values.choice("scope") == "leaf"},
        history_{values.choice("history") == "kept"},
        protected_hits_{static_cast<std::uint32_t>(values.integer("protected_hits"))},
        hits_(setup.slots),
        ranks_{setup.slots, leaf_} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    hits_[slot] = 0;
    if (history_) {
      if (auto found = past_.find(seen.key); found != past_.end()) {
        hits_[slot] = found->second + 1;
      }
    }
    ranks_.add(slot, rank(slot), seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ++hits_[slot];
    ranks_.touch(slot, rank(slot));
  }
  void on_pin(slot_id slot) override { ranks_.pin(slot); }
  void on_unpin(slot_id slot) override {
    // In use until now; and the tail of a chain comes first.
    ranks_.touch(slot, rank(slot));
    ranks_.unpin(slot);
  }
  slot_id victim() override { return ranks_.least(); }
  void on_evict(slot_id slot, block_key key) override {
    if (history_) {
      past_[key] = hits_[slot];
    }
    on_remove(slot);
  }
  void on_remove(slot_id slot) override { ranks_.remove(slot); }

 private:
  std::uint64_t rank(slot_id slot) {
    std::uint64_t is_protected = hits_[slot] >= protected_hits_ ? 1 : 0;
    return is_protected << 63 | ++clock_;
  }

  bool leaf_;
  bool history_;
  std::uint32_t protected_hits_;
  std::uint64_t clock_ = 0;
  std::vector<std::uint32_t> hits_;
  ranking<std::uint64_t> ranks_;
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> past_;
};

const register_eviction<slru> registration{policy_info{
    .name = "slru",
    .summary = "LRU among blocks hit less than twice, then among the others",
    .source = "Karedla, Love and Wherry, Computer 1994; as SGLang's radix cache has it",
    .parameters = {{.name = "scope",
                    .type = parameter_type::choice,
                    .standard = "flat",
                    .description = "leaf: a block with resident children is no victim",
                    .choices = {"flat", "leaf"}},
                   {.name = "history",
                    .type = parameter_type::choice,
                    .standard = "forgotten",
                    .description = "kept: hits survive eviction (grows with unique blocks)",
                    .choices = {"forgotten", "kept"}},
                   {.name = "protected_hits",
                    .type = parameter_type::integer,
                    .standard = "2",
                    .description = "hits from which a block is protected",
                    .low = 1,
                    .high = 1e6}}}};

}  // namespace
}  // namespace refrain
