// LFU: the block with the fewest accesses since it was inserted gives way (its insertion counts as
// one), ties by least recent access. Under leaf scope only blocks without resident children give
// way, all blocks of a request share its time, and ties go to the deepest block, as in a radix
// tree; with history kept a block's count goes on when it returns. Left out: aging (see lfu_da).
#include "policies/ranked.hpp"

namespace refrain {
namespace {

class lfu final : public ranked_eviction<std::uint32_t> {
 public:
  lfu(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{values, setup}, past_{values} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    ranks_.add(slot, past_.recall(seen.key, 0) + 1, seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ranks_.touch(slot, ranks_.value(slot) + 1);
  }
  void on_evict(slot_id slot, block_key key) override {
    past_.keep(key, ranks_.value(slot));
    on_remove(slot);
  }

 private:
  key_history<std::uint32_t> past_;
};

const register_eviction<lfu> registration{
    policy_info{.name = "lfu",
                .summary = "evicts the block with the fewest accesses, ties by least recent access",
                .source = "Aho, Denning and Ullman, JACM 1971; leaf scope as SGLang's radix cache",
                .parameters = {scope_parameter(), history_parameter()},
                .truth = {{"S", "flat", 200, 92887},
                          {"S", "flat", 2000, 50925},
                          {"SX", "flat", 6500, 93752, 3092153},
                          {"conversation", "flat", 1000, 274629},
                          {"conversation", "flat", 10000, 250487},
                          {"synthetic", "flat", 1000, 116992}}}};

}  // namespace
}  // namespace refrain
