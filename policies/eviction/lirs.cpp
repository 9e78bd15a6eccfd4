// LIRS: blocks of low inter-reference recency (LIR) have nearly all of the cache; the others (HIR)
// pass through a queue Q of a hundredth of it. A stack S holds all LIR blocks, and HIR blocks,
// resident or not, that were used since the oldest LIR block was; an HIR block that is used while
// it is in S becomes LIR, and the LIR block at the bottom goes to Q. S is cut down to its lowest
// LIR block whenever that changes, and its oldest non-resident blocks are forgotten beyond twice
// the capacity, as libCacheSim has it. Blocks count by number: a size above 1 is not cached. A
// pinned block keeps its state; the scan for a victim passes over it.
#include <algorithm>

#include "policies/ghost_list.hpp"
#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class lirs final : public eviction {
 public:
  lirs(const parameters& values, const eviction_setup& setup)
      : slots_{setup.slots},
        queue_most_{std::max<std::int64_t>(
            1,
            static_cast<std::int64_t>(values.real("queue") * static_cast<double>(setup.capacity)))},
        low_most_{setup.capacity - queue_most_},
        stack_most_{2 * setup.capacity},
        ghosts_{ghosts_most(setup.capacity + queue_most_), ghosts_most(setup.capacity) / 8},
        stack_{setup.slots + ghosts_.places(), 1},
        queue_{setup.slots, 1},
        states_(setup.slots) {}

  bool on_miss(const entry_view& seen) override {
    returned_ = false;
    if (seen.size != 1) {
      return false;
    }
    if (std::uint32_t ghost = ghosts_.place_with(seen.key); ghost != ghost_list::nowhere) {
      returned_ = true;
      drop_ghost(ghost);
    }
    return true;
  }
  void on_insert(slot_id slot, const entry_view&) override {
    states_[slot] = {};
    if (returned_) {
      while (low_ >= low_most_ && lower_bottom()) {
      }
      become_low(slot);
    } else if (low_ < low_most_) {
      become_low(slot);
    } else {
      push_queue(slot);
    }
    stack(slot);
    returned_ = false;
    prune();
    limit();
  }
  void on_hit(slot_id slot, const entry_view&) override {
    state& s = states_[slot];
    if (s.low) {
      stack_.erase(slot);
      stack_.push_front(0, slot);
      prune();
      return;
    }
    if (s.stacked) {
      unstack(slot);
      leave_queue(slot);
      while (low_ >= low_most_ && lower_bottom()) {
      }
      become_low(slot);
    } else {
      leave_queue(slot);
      push_queue(slot);
      // As libCacheSim has it: where LIR blocks have all their room, the lowest of them goes too.
      if (low_ >= low_most_) {
        lower_bottom();
      }
    }
    stack(slot);
    prune();
    limit();
  }
  /// A hit may move one block too many to Q.
  bool has_expired() override { return queued_ > queue_most_ && !queue_.empty(0); }
  void on_pin(slot_id slot) override {
    states_[slot].pinned = true;
    if (!states_[slot].low) {
      queue_.detach(slot);
    }
  }
  void on_unpin(slot_id slot) override {
    states_[slot].pinned = false;
    if (!states_[slot].low) {
      queue_.push_front(0, slot);
    }
  }
  slot_id victim() override {
    if (queue_.empty(0)) {
      lower_unpinned();
    }
    return queue_.back(0);
  }
  void on_evict(slot_id slot, block_key key) override {
    if (states_[slot].stacked && !ghosts_.full()) {
      // The ghost takes its block's place in the stack.
      std::uint32_t ghost = ghosts_.push(0, key, 1, [&](std::uint32_t from, std::uint32_t to) {
        stack_.replace(ghost_slot(from), ghost_slot(to));
      });
      stack_.replace(slot, ghost_slot(ghost));
      states_[slot].stacked = false;
    }
    on_remove(slot);
  }
  void on_remove(slot_id slot) override {
    if (states_[slot].low) {
      --low_;
    } else {
      leave_queue(slot);
    }
    if (states_[slot].stacked) {
      unstack(slot);
    }
    prune();
  }

 private:
  struct state {
    bool low : 1 = false;      // LIR
    bool stacked : 1 = false;  // in S
    bool pinned : 1 = false;
  };

  static std::uint32_t ghosts_most(std::int64_t blocks) {
    return static_cast<std::uint32_t>(blocks) + 2;
  }
  slot_id ghost_slot(std::uint32_t ghost) const { return slot_id{slots_ + ghost}; }
  bool is_ghost(slot_id place) const { return place >= slots_; }

  void stack(slot_id slot) {
    stack_.push_front(0, slot);
    states_[slot].stacked = true;
    ++stacked_;
  }
  void unstack(slot_id slot) {
    stack_.erase(slot);
    states_[slot].stacked = false;
    --stacked_;
  }
  void become_low(slot_id slot) {
    states_[slot].low = true;
    ++low_;
  }
  void push_queue(slot_id slot) {
    ++queued_;
    states_[slot].low = false;
    if (!states_[slot].pinned) {
      queue_.push_front(0, slot);
    }
  }
  void leave_queue(slot_id slot) {
    --queued_;
    if (!states_[slot].pinned) {
      queue_.erase(slot);
    }
  }
  /// The lowest LIR block goes to Q.
  bool lower_bottom() {
    prune();
    if (stack_.empty(0)) {
      return false;
    }
    lower(stack_.back(0));
    prune();
    return true;
  }
  void lower(slot_id slot) {
    unstack(slot);
    --low_;
    push_queue(slot);
  }
  /// In a run all of Q may be pinned: the lowest LIR block that is not goes there.
  void lower_unpinned() {
    for (slot_id at = stack_.back(0); at < slots_ + ghosts_.places(); at = stack_.before(at)) {
      if (!is_ghost(at) && states_[at].low && !states_[at].pinned) {
        lower(at);
        prune();
        return;
      }
    }
  }
  void prune() {
    while (!stack_.empty(0)) {
      slot_id bottom = stack_.back(0);
      if (is_ghost(bottom)) {
        drop_ghost(bottom - slots_);
      } else if (states_[bottom].low) {
        return;
      } else {
        unstack(bottom);
      }
    }
  }
  void drop_ghost(std::uint32_t ghost) {
    stack_.erase(ghost_slot(ghost));
    --stacked_;
    ghosts_.drop(ghost);
  }
  void limit() {
    while ((stacked_ > stack_most_ && ghosts_.count(0) > 0) || ghosts_.full()) {
      drop_ghost(ghosts_.oldest(0));
    }
  }

  std::uint32_t slots_;
  std::int64_t queue_most_;
  std::int64_t low_most_;
  std::int64_t stack_most_;
  std::int64_t low_ = 0;
  std::int64_t stacked_ = 0;  // places in S
  std::int64_t queued_ = 0;   // blocks in Q, pinned ones included
  ghost_list ghosts_;         // in list 0
  slot_lists stack_;          // S: slots, then ghosts by place
  slot_lists queue_;          // Q
  std::vector<state> states_;
  bool returned_ = false;
};

const register_eviction<lirs> registration{policy_info{
    .name = "lirs",
    .summary = "keeps blocks whose last two uses lie close together; others pass through a queue",
    .source = "Jiang and Zhang, LIRS, SIGMETRICS 2002; limits as in libCacheSim",
    .parameters = {{.name = "queue",
                    .type = parameter_type::real,
                    .standard = "0.01",
                    .description = "share of the capacity for blocks of high recency (HIR)",
                    .low = 0,
                    .high = 1}},
    .truth = {{"S", "flat", 200, 93237},
              {"S", "flat", 2000, 51441},
              {"conversation", "flat", 1000, 272781},
              {"conversation", "flat", 10000, 232344},
              {"synthetic", "flat", 1000, 111404}}}};

}  // namespace
}  // namespace refrain
