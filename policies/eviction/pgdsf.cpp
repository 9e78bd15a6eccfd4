// PGDSF, prefix-aware greedy dual size frequency (RAGCache): as GDSF under leaf scope, but with the
// cost of computing a block: the block of least priority L + count x cost gives way, where cost is
// the mean, over the requests that had to compute the block, of the seconds per block of that
// request's prefill, so that deep blocks behind short prefixes weigh more. A hit raises the count
// only. A block takes the L of the time when the last request that uses it ends. With history kept
// count and cost go on when a block returns. Left out: the clock of a second tier (each tier has a
// policy of its own here).
#include <algorithm>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class pgdsf final : public ranked_eviction<double> {
 public:
  static eviction_needs needs(const parameters&) { return {.tree = true, .costs = true}; }

  pgdsf(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{setup, true}, entries_(setup.slots), past_{values} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    entry& e = entries_[slot];
    e = past_.recall(seen.key, {});
    ++e.uses;
    ++e.computed;
    e.seconds += seen.request_seconds;
    ranks_.add(slot, priority(slot), seen.parent);
  }
  /// Who hits a block pins it, and its rank follows when it is unpinned.
  void on_hit(slot_id slot, const entry_view&) override { ++entries_[slot].uses; }
  void on_unpin(slot_id slot) override {
    ranks_.touch(slot, priority(slot));
    ranks_.unpin(slot);
  }
  void on_evict(slot_id slot, block_key key) override {
    inflation_ = std::max(inflation_, ranks_.value(slot));
    past_.keep(key, entries_[slot]);
    on_remove(slot);
  }

 private:
  struct entry {
    std::uint32_t uses = 0;
    std::uint32_t computed = 0;  // uses that were no hit
    double seconds = 0;          // sum over these
  };

  double priority(slot_id slot) const {
    const entry& e = entries_[slot];
    return inflation_ + e.uses * (e.seconds / e.computed);
  }

  double inflation_ = 0;  // L
  std::vector<entry> entries_;
  key_history<entry> past_;
};

const register_eviction<pgdsf> registration{policy_info{
    .name = "pgdsf",
    .summary = "evicts the least frequency times cost of computing, with old frequencies fading",
    .source = "Jin et al., RAGCache, arXiv 2404.12457; leaves of the tree only",
    .parameters = {history_parameter()}}};

}  // namespace
}  // namespace refrain
