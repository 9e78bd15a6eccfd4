// Workload-aware: for each category of requests (the kind of request and its turn) the times
// between uses of a block are taken for exponential, and its rate is fitted as uses go by. A
// block's priority is the probability that it is used again within the time that it can expect to
// stay: exp(-rate x age) - exp(-rate x (age + life)), where life is the mean time between last use
// and eviction so far. The least priority gives way, among equals the least recently used, and of
// one request the deepest block. Categories beyond the 256th count as one.
#include <algorithm>
#include <cmath>

#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class workload_aware final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.times = true, .categories = true}; }

  workload_aware(const parameters& values, const eviction_setup& setup)
      : life_sum_{to_seconds(values.duration("life"))},
        prior_gap_{to_seconds(values.duration("gap"))},
        order_{setup.slots, most},
        entries_(setup.slots),
        reuses_(most) {}

  void begin_request(const request_view& request) override { now_ = to_seconds(request.now); }
  void on_insert(slot_id slot, const entry_view& seen) override {
    enlist(slot, seen.category);
    ++reuses_[entries_[slot].category].blocks;
  }
  void on_hit(slot_id slot, const entry_view& seen) override {
    reuse& r = reuses_[entries_[slot].category];
    ++r.count;
    r.seconds += now_ - entries_[slot].last;
    if (order_.linked(slot)) {
      order_.erase(slot);
      enlist(slot, seen.category);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { enlist(slot, entries_[slot].category); }
  slot_id victim() override {
    slot_id least = no_slot;
    double least_chance = HUGE_VAL;
    double life = life_sum_ / static_cast<double>(evicted_);
    for (std::uint32_t c = 0; c < used_; ++c) {
      if (order_.empty(c)) {
        continue;
      }
      slot_id oldest = order_.back(c);
      double chance = chance_of(c, now_ - entries_[oldest].last, life);
      bool older = least != no_slot && chance == least_chance &&
                   entries_[oldest].last < entries_[least].last;
      if (chance < least_chance || older) {
        least = oldest;
        least_chance = chance;
      }
    }
    return least;
  }
  void on_evict(slot_id slot, block_key) override {
    ++evicted_;
    life_sum_ += now_ - entries_[slot].last;
    // It was not used again for that long: the fit must know of it too.
    reuses_[entries_[slot].category].seconds += now_ - entries_[slot].last;
    on_remove(slot);
  }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  static constexpr std::uint32_t most = 256;

  struct entry {
    double last = 0;
    std::uint32_t category = 0;
  };
  struct reuse {
    double blocks = 0;
    double count = 0;
    double seconds = 0;
  };

  // Maximum likelihood of an exponential with cut-off observations: uses by the time watched; one
  // use after the expected gap stands for what is not known yet.
  double chance_of(std::uint32_t category, double age, double life) const {
    const reuse& r = reuses_[category];
    double rate = (r.count + 1) / (r.seconds + prior_gap_);
    return std::exp(-rate * age) - std::exp(-rate * (age + life));
  }
  void enlist(slot_id slot, std::uint32_t category) {
    std::uint32_t c = std::min(category, most - 1);
    used_ = std::max(used_, c + 1);
    entries_[slot] = {now_, c};
    order_.push_front(c, slot);
  }

  double life_sum_;
  double prior_gap_;
  std::uint64_t evicted_ = 1;
  double now_ = 0;
  std::uint32_t used_ = 0;
  slot_lists order_;
  std::vector<entry> entries_;
  std::vector<reuse> reuses_;
};

const register_eviction<workload_aware> registration{policy_info{
    .name = "workload_aware",
    .summary = "evicts what is least likely to be used again soon, by its category's reuse times",
    .source = "Wang et al., KVCache in the wild, USENIX ATC 2025",
    .parameters = {{.name = "life",
                    .type = parameter_type::duration,
                    .standard = "60s",
                    .description = "time that a block can expect to stay, before any was evicted",
                    .low = 1e-6},
                   {.name = "gap",
                    .type = parameter_type::duration,
                    .standard = "300s",
                    .description = "mean time between uses that an unknown category starts with",
                    .low = 1e-6}}}};

}  // namespace
}  // namespace refrain
