// LFU with dynamic aging: the block of least key gives way, ties by least recent access, and the
// age L is the greatest key evicted so far, so that blocks that were popular long ago are outgrown.
// Three rules are in use for what L is added to. uses (Arlitt's, Squid's): a block's key is L +
// count, renewed with the L of the time at every use; with sizes of 1 that is GDSF. newcomers: L is
// added once, on insertion, and a use adds 1. libcachesim: L is the least key in the cache, added
// on insertion and at every use (keys double quickly; a hit before the first eviction adds
// nothing). With history kept a block's count goes on when it returns.
#include <algorithm>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class lfu_da final : public ranked_eviction<double> {
 public:
  lfu_da(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{values, setup},
        ages_at_uses_{values.choice("aging") == "uses"},
        ages_at_newcomers_{values.choice("aging") == "newcomers"},
        counts_(setup.slots),
        past_{values} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    counts_[slot] = past_.recall(seen.key, 0) + 1;
    if (!ages_at_uses_ && !ages_at_newcomers_) {
      age_by_least();
    }
    ranks_.add(slot, age_ + counts_[slot], seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ++counts_[slot];
    if (ages_at_uses_) {
      ranks_.touch(slot, age_ + counts_[slot]);
    } else if (ages_at_newcomers_) {
      ranks_.touch(slot, ranks_.value(slot) + 1);
    } else {
      age_by_least();
      ranks_.touch(slot, ranks_.value(slot) + age_);
    }
  }
  void on_evict(slot_id slot, block_key key) override {
    age_ = std::max(age_, ranks_.value(slot));
    past_.keep(key, counts_[slot]);
    on_remove(slot);
  }

 private:
  void age_by_least() {
    if (age_ > 0) {
      if (slot_id least = ranks_.least(); least != no_slot) {
        age_ = std::max(age_, ranks_.value(least));
      }
    }
  }

  bool ages_at_uses_;
  bool ages_at_newcomers_;  // neither: as libCacheSim
  double age_ = 0;          // L
  std::vector<std::uint32_t> counts_;
  key_history<std::uint32_t> past_;
};

const register_eviction<lfu_da> registration{policy_info{
    .name = "lfu_da",
    .summary = "evicts the least count plus age, where the age grows with what is evicted",
    .source = "Arlitt et al., HPL-98-173, 1998; aging=libcachesim as libCacheSim's LFUDA",
    .parameters = {{.name = "aging",
                    .type = parameter_type::choice,
                    .standard = "uses",
                    .description = "what the age is added to: every use, or newcomers only",
                    .choices = {"uses", "newcomers", "libcachesim"}},
                   scope_parameter(),
                   history_parameter()},
    .truth = {{"S", "flat", 200, 91007, -1, "aging=libcachesim"},
              {"S", "flat", 2000, 51025, -1, "aging=libcachesim"}}}};

}  // namespace
}  // namespace refrain
