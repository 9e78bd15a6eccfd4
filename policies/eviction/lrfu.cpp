// LRFU: each use of a block weighs 1 and halves every half-life; the block of least sum gives way,
// ties by older last use, then the deeper block. A short half-life is LRU, a long one LFU. Ages are
// in time, or in requests where half_life_requests says so. Held as log2(sum) + last / half-life,
// which orders blocks without aging them. Under leaf scope only blocks without resident children
// give way; with history kept a block's sum goes on when it returns. Left out: other decays.
#include <cmath>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class lrfu final : public ranked_eviction<double> {
 public:
  static eviction_needs needs(const parameters& values) {
    eviction_needs all = ranked_eviction::needs(values);
    all.times = values.real("half_life_requests") == 0;
    return all;
  }

  lrfu(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{values, setup},
        half_life_{to_seconds(values.duration("half_life"))},
        half_life_requests_{values.real("half_life_requests")},
        past_{values} {}

  void begin_request(const request_view& request) override {
    ++requests_;
    age_ = half_life_requests_ > 0 ? static_cast<double>(requests_) / half_life_requests_
                                   : to_seconds(request.now) / half_life_;
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    double past = past_.recall(seen.key, never_used);
    ranks_.add(slot, past == never_used ? age_ : used_again(past), seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ranks_.touch(slot, used_again(ranks_.value(slot)));
  }
  void on_evict(slot_id slot, block_key key) override {
    past_.keep(key, ranks_.value(slot));
    on_remove(slot);
  }

 private:
  static constexpr double never_used = -HUGE_VAL;

  double used_again(double score) const { return age_ + std::log2(1 + std::exp2(score - age_)); }

  double half_life_;           // seconds
  double half_life_requests_;  // 0: ages are in time
  double age_ = 0;             // now, in half-lives
  std::uint64_t requests_ = 0;
  key_history<double> past_;
};

const register_eviction<lrfu> registration{
    policy_info{.name = "lrfu",
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
                               scope_parameter(),
                               history_parameter()}}};

}  // namespace
}  // namespace refrain
