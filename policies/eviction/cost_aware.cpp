// Cost-aware: the block that saves least gives way, where what it saves is the seconds of computing
// it again by its size, discounted by the time since its last use: cost / size / (1 + age / scale).
// Blocks stand in 64 classes of like cost (a quarter of an octave each), every one in order of last
// use; the victim is the least of the oldest blocks of all classes, so between blocks of one class
// the order is that of last use. Left out: LMCache's moving average of the cost, which is a
// constant here, since a block's price does not change.
#include <algorithm>
#include <cmath>

#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class cost_aware final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.times = true, .costs = true}; }

  cost_aware(const parameters& values, const eviction_setup& setup)
      : scale_{to_seconds(values.duration("age_scale"))},
        order_{setup.slots, classes},
        entries_(setup.slots) {}

  void begin_request(const request_view& request) override { now_ = to_seconds(request.now); }
  void on_insert(slot_id slot, const entry_view& seen) override {
    entries_[slot].value = static_cast<float>(seen.recompute_seconds / seen.size);
    entries_[slot].list = class_of(entries_[slot].value);
    use(slot);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    if (order_.linked(slot)) {
      order_.erase(slot);
      use(slot);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { use(slot); }
  slot_id victim() override {
    slot_id least = no_slot;
    double least_saved = HUGE_VAL;
    for (std::uint32_t list = 0; list < classes; ++list) {
      if (order_.empty(list)) {
        continue;
      }
      const entry& e = entries_[order_.back(list)];
      double saved = e.value / (1 + (now_ - e.last) / scale_);
      if (saved < least_saved) {
        least = order_.back(list);
        least_saved = saved;
      }
    }
    return least;
  }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  static constexpr std::uint32_t classes = 64;

  struct entry {
    double last = 0;  // seconds
    float value = 0;  // seconds per unit of size
    std::uint32_t list = 0;
  };

  // From a tenth of a millisecond up to 6.5 seconds a block.
  static std::uint32_t class_of(double value) {
    double octaves = value > 0 ? std::log2(value / 1e-4) : 0;
    return static_cast<std::uint32_t>(std::clamp(octaves * 4, 0.0, classes - 1.0));
  }
  void use(slot_id slot) {
    entries_[slot].last = now_;
    order_.push_front(entries_[slot].list, slot);
  }

  double scale_;
  double now_ = 0;
  slot_lists order_;
  std::vector<entry> entries_;
};

const register_eviction<cost_aware> registration{policy_info{
    .name = "cost_aware",
    .summary = "evicts what saves the least seconds of computing by size and age",
    .source = "LMCache's cost-aware policy (a branch): tokens by bytes by (1 + age / 60 s)",
    .parameters = {{.name = "age_scale",
                    .type = parameter_type::duration,
                    .standard = "60s",
                    .description = "age at which a block is worth half",
                    .low = 1e-6}}}};

}  // namespace
}  // namespace refrain
