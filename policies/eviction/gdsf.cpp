// GDSF, greedy dual size frequency: the block of least priority L + count x 10^6 / size gives way,
// ties by least recent access, where L is the greatest priority evicted so far, so that old counts
// fade. A hit renews the priority with the L of its time. Under leaf scope only blocks without
// resident children give way, and a block takes L when the last request that uses it ends; with
// history kept a block's count goes on when it returns. Left out: a cost other than 1.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "policies/ranking.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class gdsf final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.tree = values.choice("scope") == "leaf"};
  }

  gdsf(const parameters& values, const eviction_setup& setup)
      : leaf_{values.choice("scope") == "leaf"},
        history_{values.choice("history") == "kept"},
        counts_(setup.slots),
        ranks_{setup.slots, leaf_} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    if (seen.size != 1 || !sizes_.empty()) {
      remember_size(slot, seen.size);
    }
    counts_[slot] = 1;
    if (history_) {
      if (auto found = past_.find(seen.key); found != past_.end()) {
        counts_[slot] += found->second;
      }
    }
    ranks_.add(slot, priority(slot), seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ++counts_[slot];
    ranks_.touch(slot, priority(slot));
  }
  void on_pin(slot_id slot) override { ranks_.pin(slot); }
  void on_unpin(slot_id slot) override {
    if (leaf_) {
      ranks_.touch(slot, priority(slot));
    }
    ranks_.unpin(slot);
  }
  slot_id victim() override { return ranks_.least(); }
  void on_evict(slot_id slot, block_key key) override {
    inflation_ = std::max(inflation_, ranks_.value(slot));
    if (history_) {
      past_[key] = counts_[slot];
    }
    on_remove(slot);
  }
  void on_remove(slot_id slot) override { ranks_.remove(slot); }

 private:
  double priority(slot_id slot) const {
    double size = sizes_.empty() ? 1 : sizes_[slot];
    return inflation_ + static_cast<double>(counts_[slot]) * 1e6 / size;
  }
  void remember_size(slot_id slot, std::uint32_t size) {
    if (sizes_.empty()) {
      sizes_.resize(counts_.size(), 1);
    }
    sizes_[slot] = size;
  }

  bool leaf_;
  bool history_;
  double inflation_ = 0;  // L
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  ranking<double> ranks_;
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> past_;
};

const register_eviction<gdsf> registration{policy_info{
    .name = "gdsf",
    .summary = "evicts the least frequency per size, with old frequencies fading",
    .source = "Cherkasova, HPL-98-69R1, 1998; leaf scope as SGLang's radix cache evicts",
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
    .truth = {{"S", "flat", 200, 100749},
              {"S", "flat", 2000, 54212},
              {"SX", "flat", 6500, 95558, 3397868},
              {"conversation", "flat", 1000, 275616},
              {"conversation", "flat", 10000, 225870},
              {"synthetic", "flat", 1000, 111440}}}};

}  // namespace
}  // namespace refrain
