// SIEVE: one queue in order of insertion and a hand that moves from its oldest block to its newest,
// clears the mark of each block that was hit since it last came by, and evicts the first one
// without a mark; survivors stay in place. At the newest end it begins again at the oldest. After
// an eviction it stands at the victim's newer neighbour. Here the blocks before and behind the hand
// are two queues, so the hand moves by taking the oldest from one to the other. A pinned block
// keeps its mark and place; the hand passes over it. Left out: nothing of the paper.
#include "policies/replay_loop.hpp"
#include "policies/slot_queues.hpp"

namespace refrain {
namespace {

class sieve final : public eviction {
 public:
  sieve(const parameters&, const eviction_setup& setup)
      : order_{setup.slots}, marked_(setup.slots) {}

  void on_insert(slot_id slot, const entry_view&) override {
    // The victim was the newest: the hand has nowhere to stand and begins again.
    if (order_.empty(ahead_)) {
      begin_lap();
    }
    marked_[slot] = false;
    order_.push(ahead_, slot);
  }
  void on_hit(slot_id slot, const entry_view&) override { marked_[slot] = true; }
  void on_pin(slot_id slot) override { order_.pin(slot); }
  void on_unpin(slot_id slot) override {
    bool is_ahead = !moved_ || slot_queues::before_number(hand_, order_.number_of(slot));
    order_.unpin(slot, is_ahead ? ahead_ : 1 - ahead_);
  }
  slot_id victim() override {
    for (;;) {
      slot_id slot = order_.oldest(ahead_);
      if (slot == no_slot) {
        begin_lap();
        continue;
      }
      if (!marked_[slot]) {
        hand_ = order_.number_of(slot);
        moved_ = true;
        return slot;
      }
      marked_[slot] = false;
      order_.move(1 - ahead_, slot);
    }
  }
  void on_remove(slot_id slot) override { order_.erase(slot); }
  slot_id near_victim() const { return order_.near_oldest(ahead_); }

 private:
  void begin_lap() {
    ahead_ = 1 - ahead_;
    moved_ = false;
  }

  slot_queues order_;
  std::vector<std::uint8_t> marked_;
  std::uint32_t ahead_ = 0;  // queue of the blocks that the hand has yet to reach in this lap
  std::uint32_t hand_ = 0;   // arrival number of the last block that it examined, once it has moved
  bool moved_ = false;
};

const register_eviction<sieve> registration{
    policy_info{.name = "sieve",
                .summary = "evicts the oldest block that was not hit since the hand last passed",
                .source = "Zhang et al., SIEVE is simpler than LRU, NSDI 2024",
                .truth = {{"S", "flat", 200, 91665},
                          {"S", "flat", 2000, 50925},
                          {"SX", "flat", 6500, 91922, 3029573},
                          {"conversation", "flat", 1000, 274629},
                          {"conversation", "flat", 10000, 250487},
                          {"synthetic", "flat", 1000, 116992}}}};

}  // namespace
}  // namespace refrain
