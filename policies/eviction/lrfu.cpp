// LRFU: each use of a block weighs 1 and halves every half-life; the block of least sum gives way,
// ties by older last use, then the deeper block. A short half-life is LRU, a long one LFU. Ages are
// in time, or in requests where half_life_requests says so. Held as log2(sum) + last / half-life,
// which orders blocks without aging them. Under leaf scope only blocks without resident children
// give way; with history kept a block's sum goes on when it returns. Left out: other decays.
#include <absl/container/flat_hash_map.h>

#include <cmath>

#include "policies/ranking.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class lrfu final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.tree = values.choice("scope") == "leaf",
            .times = values.real("half_life_requests") == 0};
  }

  lrfu(const parameters& values, const eviction_setup& setup)
      : leaf_{values.choice("scope") == "leaf"},
        history_{values.choice("history") == "kept"},
        half_life_{to_seconds(values.duration("half_life"))},
        half_life_requests_{values.real("half_life_requests")},
        ranks_{setup.slots, leaf_} {}

  void begin_request(const request_view& request) override {
    ++requests_;
    age_ = half_life_requests_ > 0 ? static_cast<double>(requests_) / half_life_requests_
                                   : to_seconds(request.now) / half_life_;
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    double score = age_;
    if (history_) {
      if (auto found = past_.find(seen.key); found != past_.end()) {
        score = used_again(found->second);
      }
    }
    ranks_.add(slot, score, seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ranks_.touch(slot, used_again(ranks_.value(slot)));
  }
  void on_pin(slot_id slot) override { ranks_.pin(slot); }
  void on_unpin(slot_id slot) override {
    if (leaf_) {
      ranks_.touch(slot, ranks_.value(slot));  // the tail of a chain comes first
    }
    ranks_.unpin(slot);
  }
  slot_id victim() override { return ranks_.least(); }
  void on_evict(slot_id slot, block_key key) override {
    if (history_) {
      past_[key] = ranks_.value(slot);
    }
    on_remove(slot);
  }
  void on_remove(slot_id slot) override { ranks_.remove(slot); }

 private:
  double used_again(double score) const { return age_ + std::log2(1 + std::exp2(score - age_)); }

  bool leaf_;
  bool history_;
  double half_life_;           // seconds
  double half_life_requests_;  // 0: ages are in time
  double age_ = 0;             // now, in half-lives
  std::uint64_t requests_ = 0;
  ranking<double> ranks_;
  absl::flat_hash_map<block_key, double, key_hash> past_;
};

const register_eviction<lrfu> registration{policy_info{
    .name = "lrfu",
    .summary = "evicts the least number of uses, each halving every half-life",
    .source = "Lee et al., LRFU, IEEE Transactions on Computers 2001",
    .parameters = {{.name = "half_life",
                    .type = parameter_type::duration,
                    .standard = "300s",
                    .description = "time in which a use loses half its weight",
                    .low = 1e-6},
                   {.name = "half_life_requests",
                    .type = parameter_type::real,
                    .standard = "0",
                    .description = "the half-life in requests; 0: half_life counts",
                    .high = 1e30},
                   {.name = "scope",
                    .type = parameter_type::choice,
                    .standard = "flat",
                    .description = "leaf: a block with resident children is no victim",
                    .choices = {"flat", "leaf"}},
                   {.name = "history",
                    .type = parameter_type::choice,
                    .standard = "forgotten",
                    .description = "kept: scores survive eviction (grows with unique blocks)",
                    .choices = {"forgotten", "kept"}}}}};

}  // namespace
}  // namespace refrain
