// TTL: a block lives for a time, counted from its last use or from its insertion. Hard: a block
// whose time is over is dropped, room or no room. Soft: it is the first to give way, the one
// longest over its time first. Either way the least recently used gives way when none is over its
// time. (Soft, counted from the last use, is LRU.) A pinned block is in use and does not age;
// unpinned, it is used for the last time.
#include <algorithm>

#include "policies/indexed_heap.hpp"
#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class ttl final : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.times = true, .expiry = values.choice("mode") == "hard"};
  }

  ttl(const parameters& values, const eviction_setup& setup)
      : hard_{values.choice("mode") == "hard"},
        from_insertion_{values.choice("from") == "insertion"},
        life_{values.duration("ttl")},
        order_{setup.slots, 1},
        since_(setup.slots),
        ages_{from_insertion_ ? setup.slots : 0} {}

  void begin_request(const request_view& request) override { on_time(request.now); }
  std::optional<sim_time> next_expiry() const override {
    slot_id first = first_to_expire();
    if (first == no_slot || life_ >= sim_time::max() - since_[first]) {
      return std::nullopt;
    }
    return since_[first] + life_ + sim_time{1};
  }
  void on_time(sim_time now) override { now_ = std::max(now_, now); }
  bool has_expired() override { return hard_ && first_expired() != no_slot; }

  void on_insert(slot_id slot, const entry_view&) override {
    since_[slot] = now_;
    order_.push_front(0, slot);
    if (from_insertion_) {
      ages_.set(slot, now_.count());
    }
  }
  void on_hit(slot_id slot, const entry_view&) override {
    if (order_.linked(slot)) {
      order_.erase(slot);
      use(slot);
    }
  }
  void on_pin(slot_id slot) override {
    order_.detach(slot);
    if (from_insertion_) {
      ages_.erase(slot);
    }
  }
  void on_unpin(slot_id slot) override {
    use(slot);
    if (from_insertion_) {
      ages_.set(slot, since_[slot].count());
    }
  }
  slot_id victim() override {
    slot_id over = first_expired();
    return over == no_slot ? order_.back(0) : over;
  }
  void on_remove(slot_id slot) override {
    order_.erase(slot);
    if (from_insertion_) {
      ages_.erase(slot);
    }
  }

 private:
  slot_id first_to_expire() const {
    if (from_insertion_ ? ages_.empty() : order_.empty(0)) {
      return no_slot;
    }
    return from_insertion_ ? ages_.top() : order_.back(0);
  }
  // The block that is longest over its time.
  slot_id first_expired() const {
    slot_id first = first_to_expire();
    return first != no_slot && now_ - since_[first] > life_ ? first : no_slot;
  }
  void use(slot_id slot) {
    order_.push_front(0, slot);
    if (!from_insertion_) {
      since_[slot] = now_;
    }
  }

  bool hard_;
  bool from_insertion_;
  sim_time life_;
  sim_time now_{0};
  slot_lists order_;  // by last use
  std::vector<sim_time> since_;
  indexed_heap<std::int64_t> ages_;  // by insertion, where the time counts from there
};

const register_eviction<ttl> registration{policy_info{
    .name = "ttl",
    .summary = "blocks live for a time, then they go; LRU among the living",
    .source = "time to live of proxies and agents' sessions: Continuum, arXiv 2511.02230",
    .parameters = {{.name = "ttl",
                    .type = parameter_type::duration,
                    .standard = "600s",
                    .description = "how long a block lives",
                    .low = 0},
                   {.name = "mode",
                    .type = parameter_type::choice,
                    .standard = "hard",
                    .description = "hard: dropped though there is room; soft: first to go",
                    .choices = {"hard", "soft"}},
                   {.name = "from",
                    .type = parameter_type::choice,
                    .standard = "use",
                    .description = "what the time counts from",
                    .choices = {"use", "insertion"}}}}};

}  // namespace
}  // namespace refrain
