// Infinite: cached blocks take no room, so nothing is ever evicted. It is the bound that a run is
// compared with; running requests still need room. In replay the same name is a bound of its own.
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class infinite final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.unbounded = true}; }

  infinite(const parameters&, const eviction_setup&) {}

  void on_insert(slot_id, const entry_view&) override {}
  void on_hit(slot_id, const entry_view&) override {}
  slot_id victim() override { return no_slot; }
  void on_remove(slot_id) override {}
};

const register_run_eviction<infinite> registration{
    policy_info{.name = "infinite",
                .summary = "cached blocks take no room (a bound, exempt from the memory rule)",
                .source = "the endless cache of trace studies"}};

}  // namespace
}  // namespace refrain
