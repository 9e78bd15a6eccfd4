// Retention hints: a request says how much its blocks matter (0 to 100) and for how long; the
// lowest priority gives way, among equals the least recently used. When its time is over a block
// falls to the standard priority, or below all others, and keeps its place in the order of last
// use. A block has the priority of the request that used it last.
#include "policies/indexed_heap.hpp"
#include "policies/ranking.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {
namespace {

class retention final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.times = true, .hints = true}; }

  retention(const parameters& values, const eviction_setup& setup)
      : fallen_{values.choice("after") == "zero" ? 0 : standard_priority},
        ranks_{setup.slots, false},
        ends_{setup.slots},
        priorities_(setup.slots) {}

  void begin_request(const request_view& request) override {
    now_ = request.now;
    while (!ends_.empty() && ends_.top_priority() < now_.count()) {
      slot_id slot = ends_.top();
      ends_.erase(slot);
      priorities_[slot] = std::min(priorities_[slot], fallen_);
      ranks_.touch(slot, rank(slot, ranks_.value(slot) & uses));
    }
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    take_hint(slot, seen);
    ranks_.add(slot, rank(slot, ++clock_), no_slot);
  }
  void on_hit(slot_id slot, const entry_view& seen) override {
    take_hint(slot, seen);
    ranks_.touch(slot, rank(slot, ++clock_));
  }
  void on_pin(slot_id slot) override { ranks_.pin(slot); }
  void on_unpin(slot_id slot) override {
    ranks_.touch(slot, rank(slot, ++clock_));
    ranks_.unpin(slot);
  }
  slot_id victim() override { return ranks_.least(); }
  void on_remove(slot_id slot) override {
    ends_.erase(slot);
    ranks_.remove(slot);
  }

 private:
  static constexpr std::int32_t standard_priority = 35;
  static constexpr std::uint64_t uses = (std::uint64_t{1} << 56) - 1;

  void take_hint(slot_id slot, const entry_view& seen) {
    priorities_[slot] = seen.priority;
    if (seen.retention > sim_time{0}) {
      ends_.set(slot, (now_ + seen.retention).count());
    } else {
      ends_.erase(slot);
    }
  }
  std::uint64_t rank(slot_id slot, std::uint64_t use) const {
    return static_cast<std::uint64_t>(priorities_[slot]) << 56 | use;
  }

  std::int32_t fallen_;
  sim_time now_{0};
  std::uint64_t clock_ = 0;
  ranking<std::uint64_t> ranks_;  // priority, then last use
  indexed_heap<std::int64_t> ends_;
  std::vector<std::int32_t> priorities_;
};

const register_eviction<retention> registration{policy_info{
    .name = "retention",
    .summary = "evicts the lowest priority that requests ask for; a priority may be for a time",
    .source = "TensorRT-LLM's KvCacheRetentionConfig; after=zero as SGLang's retention_seconds",
    .parameters = {{.name = "after",
                    .type = parameter_type::choice,
                    .standard = "standard",
                    .description = "what a priority falls to when its time is over: 35 or 0",
                    .choices = {"standard", "zero"}}}}};

}  // namespace
}  // namespace refrain
