// LRU: the block least recently used gives way. Back to front, a request touches the tail of its
// chain first, so that the head ends most recent and a chain is evicted from its tail; front to
// back is the order that engines had wrong (LMCache issue 1116). In a run an unpinned block is
// appended as the most recent.
#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class lru final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.front = values.choice("order") == "front"};
  }

  lru(const parameters&, const eviction_setup& setup) : order_{setup.slots, 1} {}

  void on_insert(slot_id slot, const entry_view&) override { order_.push_front(0, slot); }
  void on_hit(slot_id slot, const entry_view&) override {
    if (order_.linked(slot)) {
      order_.erase(slot);
      order_.push_front(0, slot);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { order_.push_front(0, slot); }
  slot_id victim() override { return order_.back(0); }
  slot_id near_victim() const { return order_.empty(0) ? no_slot : order_.back(0); }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  slot_lists order_;
};

const register_eviction<lru> registration{policy_info{
    .name = "lru",
    .summary = "evicts the block least recently used",
    .source = "Mattson et al., IBM Systems Journal 1970; tail first as vLLM frees a chain",
    .parameters = {{.name = "order",
                    .type = parameter_type::choice,
                    .standard = "back",
                    .description = "which end of a request's chain is touched first",
                    .choices = {"back", "front"}}},
    .truth = {{"S", "flat", 200, 113596},
              {"S", "flat", 2000, 60630},
              {"SX", "flat", 6500, 113927, 3763445},
              {"conversation", "flat", 1000, 275669},
              {"conversation", "flat", 10000, 227579},
              {"synthetic", "flat", 1000, 111827},
              {"conversation", "prefix", 1000, 288500 - 12847},
              {"conversation", "prefix", 10000, 288500 - 61046},
              {"conversation", "prefix", 50000, 288500 - 102290},
              {"conversation", "prefix", 1000, 288500 - 12831, -1, "order=front"},
              {"conversation", "prefix", 10000, 288500 - 60921, -1, "order=front"},
              {"synthetic", "prefix", 1000, 121877 - 10252},
              {"synthetic", "prefix", 10000, 121877 - 51669},
              {"synthetic", "prefix", 1000, 121877 - 10050, -1, "order=front"},
              {"synthetic", "prefix", 10000, 121877 - 51614, -1, "order=front"}}}};

}  // namespace
}  // namespace refrain
