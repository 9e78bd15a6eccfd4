// GDSF, greedy dual size frequency: the block of least priority L + count x 10^6 / size gives way,
// ties by least recent access, where L is the greatest priority evicted so far, so that old counts
// fade. A hit renews the priority with the L of its time. Under leaf scope only blocks without
// resident children give way, and a block takes L when the last request that uses it ends; with
// history kept a block's count goes on when it returns. Left out: a cost other than 1.
#include <algorithm>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class gdsf final : public ranked_eviction<double> {
 public:
  gdsf(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{values, setup}, counts_(setup.slots), sizes_{setup.slots}, past_{values} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    sizes_.set(slot, seen.size);
    counts_[slot] = past_.recall(seen.key, 0) + 1;
    ranks_.add(slot, priority(slot), seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ++counts_[slot];
    ranks_.touch(slot, priority(slot));
  }
  void on_unpin(slot_id slot) override {
    if (leaf_) {
      ranks_.touch(slot, priority(slot));
    }
    ranks_.unpin(slot);
  }
  void on_evict(slot_id slot, block_key key) override {
    inflation_ = std::max(inflation_, ranks_.value(slot));
    past_.keep(key, counts_[slot]);
    on_remove(slot);
  }

 private:
  double priority(slot_id slot) const {
    return inflation_ + static_cast<double>(counts_[slot]) * 1e6 / sizes_[slot];
  }

  double inflation_ = 0;  // L
  std::vector<std::uint32_t> counts_;
  slot_sizes sizes_;
  key_history<std::uint32_t> past_;
};

const register_eviction<gdsf> registration{policy_info{
    .name = "gdsf",
    .summary = "evicts the least frequency per size, with old frequencies fading",
    .source = "Cherkasova, HPL-98-69R1, 1998; leaf scope as SGLang's radix cache evicts",
    .parameters = {scope_parameter(), history_parameter()},
    .truth = {{"S", "flat", 200, 100749},
              {"S", "flat", 2000, 54212},
              {"SX", "flat", 6500, 95558, 3397868},
              {"conversation", "flat", 1000, 275616},
              {"conversation", "flat", 10000, 225870},
              {"synthetic", "flat", 1000, 111440}}}};

}  // namespace
}  // namespace refrain
