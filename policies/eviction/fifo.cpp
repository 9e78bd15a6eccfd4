// FIFO: the block that came first gives way, however often it was used. A pinned block keeps its
// place: the scan for a victim passes over it once, and when it is unpinned it is among the oldest
// that are left.
#include "policies/replay_loop.hpp"
#include "policies/slot_queues.hpp"

namespace refrain {
namespace {

class fifo final : public eviction {
 public:
  fifo(const parameters&, const eviction_setup& setup) : order_{setup.slots} {}

  void on_insert(slot_id slot, const entry_view&) override { order_.push(0, slot); }
  void on_hit(slot_id, const entry_view&) override {}
  void on_pin(slot_id slot) override { order_.pin(slot); }
  void on_unpin(slot_id slot) override { order_.unpin(slot); }
  slot_id victim() override { return order_.oldest(0); }
  slot_id near_victim() const { return order_.near_oldest(0); }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  slot_queues order_;
};

const register_eviction<fifo> registration{
    policy_info{.name = "fifo",
                .summary = "evicts the block inserted first",
                .source = "Belady, IBM Systems Journal 1966",
                .truth = {{"S", "flat", 200, 122873},
                          {"S", "flat", 2000, 68828},
                          {"SX", "flat", 6500, 123164, 4051967},
                          {"conversation", "flat", 1000, 275941},
                          {"conversation", "flat", 10000, 234688},
                          {"synthetic", "flat", 1000, 112280},
                          {"conversation", "prefix", 1000, 288500 - 12840},
                          {"conversation", "prefix", 10000, 288500 - 52514},
                          {"conversation", "prefix", 50000, 288500 - 96231},
                          {"synthetic", "prefix", 1000, 121877 - 9966},
                          {"synthetic", "prefix", 10000, 121877 - 49047}}}};

}  // namespace
}  // namespace refrain
