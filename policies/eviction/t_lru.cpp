// T-LRU, tail-optimised LRU: a conversation of L tokens whose next prompt brings Q more needs B =
// max(0, L + Q - xi) of its tokens cached to keep the next prefill within a budget of xi tokens.
// Blocks beyond B are freed first, in LRU order, then all others, in LRU order. L is what the
// conversation holds after the request: its prompt and its answer.
#include <algorithm>

#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class t_lru final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.sessions = true}; }

  t_lru(const parameters& values, const eviction_setup& setup)
      : surplus_{values.integer("expected_prompt") - values.integer("budget")},
        order_{setup.slots, 2},
        list_(setup.slots) {}

  void begin_request(const request_view& request) override {
    needed_tokens_ = request.input_tokens + request.output_tokens + surplus_;
  }
  void on_insert(slot_id slot, const entry_view& entry) override {
    classify(slot, entry);
    order_.push_front(list_[slot], slot);
  }
  void on_hit(slot_id slot, const entry_view& entry) override {
    bool listed = order_.linked(slot);
    if (listed) {
      order_.erase(slot);
    }
    classify(slot, entry);
    if (listed) {
      order_.push_front(list_[slot], slot);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { order_.push_front(list_[slot], slot); }
  slot_id victim() override { return order_.back(order_.empty(beyond) ? needed : beyond); }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  static constexpr std::uint32_t beyond = 0;
  static constexpr std::uint32_t needed = 1;

  void classify(slot_id slot, const entry_view& entry) {
    list_[slot] = entry.tokens_before >= needed_tokens_ ? beyond : needed;
  }

  std::int64_t surplus_;
  std::int64_t needed_tokens_ = 0;
  slot_lists order_;
  std::vector<std::uint32_t> list_;
};

const register_eviction<t_lru> registration{policy_info{
    .name = "t_lru",
    .summary = "frees first what a conversation can recompute within a budget, then LRU",
    .source = "Tail-optimised LRU for multi-turn serving, as merged in sglang#34012 and vllm#37825",
    .parameters = {{.name = "budget",
                    .type = parameter_type::integer,
                    .standard = "2048",
                    .description = "tokens that the next prefill may compute (xi)",
                    .low = 0},
                   {.name = "expected_prompt",
                    .type = parameter_type::integer,
                    .standard = "256",
                    .description = "tokens that the next turn is expected to add (Q)",
                    .low = 0}}}};

}  // namespace
}  // namespace refrain
