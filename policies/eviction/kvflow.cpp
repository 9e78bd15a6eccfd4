// KVFlow: each request belongs to an agent of a workflow and tells how many steps lie before the
// next turn of the others; the block whose agents are farthest from their turn gives way, the
// nearest of the agents that share a block counting. Among blocks of like distance the least
// recently used goes, of one request the tail, so varying ends go before fixed prompts. Blocks
// stand in groups by the set of their agents: 64 agents are told apart (the rest count as the
// last), and 256 sets. Left out: fetching the next agents' blocks ahead.
#include <algorithm>
#include <bit>

#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class kvflow final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.steps = true}; }

  kvflow(const parameters&, const eviction_setup& setup)
      : order_{setup.slots, most_groups}, group_(setup.slots), steps_(agents, far_away) {
    sets_.reserve(most_groups);
  }

  void begin_request(const request_view& request) override {
    std::fill(steps_.begin(), steps_.end(), far_away);
    for (const agent_steps& next : request.upcoming) {
      std::uint32_t& known = steps_[std::min(next.agent, agents - 1)];
      known = std::min(known, next.steps);
    }
  }
  void on_insert(slot_id slot, const entry_view& seen) override {
    group_[slot] = group_of(bit(seen.agent));
    order_.push_front(group_[slot], slot);
  }
  void on_hit(slot_id slot, const entry_view& seen) override {
    bool listed = order_.linked(slot);
    if (listed) {
      order_.erase(slot);
    }
    group_[slot] = group_of(sets_[group_[slot]] | bit(seen.agent));
    if (listed) {
      order_.push_front(group_[slot], slot);
    }
  }
  void on_pin(slot_id slot) override { order_.detach(slot); }
  void on_unpin(slot_id slot) override { order_.push_front(group_[slot], slot); }
  slot_id victim() override {
    slot_id chosen = no_slot;
    std::uint32_t farthest = 0;
    for (std::uint32_t g = 0; g < sets_.size(); ++g) {
      if (order_.empty(g)) {
        continue;
      }
      std::uint32_t distance = distance_of(sets_[g]);
      if (chosen == no_slot || distance > farthest) {
        chosen = order_.back(g);
        farthest = distance;
      }
    }
    return chosen;
  }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  static constexpr std::uint32_t agents = 64;
  static constexpr std::uint32_t most_groups = 256;
  static constexpr std::uint32_t far_away = UINT32_MAX;

  static std::uint64_t bit(std::uint32_t agent) {
    return std::uint64_t{1} << std::min(agent, agents - 1);
  }
  std::uint32_t group_of(std::uint64_t set) {
    auto found = std::find(sets_.begin(), sets_.end(), set);
    if (found == sets_.end() && sets_.size() < most_groups) {
      sets_.push_back(set);
      return static_cast<std::uint32_t>(sets_.size() - 1);
    }
    return found == sets_.end() ? most_groups - 1
                                : static_cast<std::uint32_t>(found - sets_.begin());
  }
  std::uint32_t distance_of(std::uint64_t set) const {
    std::uint32_t nearest = far_away;
    for (; set != 0; set &= set - 1) {
      nearest = std::min(nearest, steps_[static_cast<std::size_t>(std::countr_zero(set))]);
    }
    return nearest;
  }

  slot_lists order_;
  std::vector<std::uint32_t> group_;
  std::vector<std::uint64_t> sets_;  // by group: its agents
  std::vector<std::uint32_t> steps_;
};

const register_eviction<kvflow> registration{
    policy_info{.name = "kvflow",
                .summary = "evicts the blocks of the agents farthest from their next turn",
                .source = "Pan et al., KVFlow, arXiv 2507.07400"}};

}  // namespace
}  // namespace refrain
