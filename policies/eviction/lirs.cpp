// LIRS: blocks of low inter-reference recency (LIR) have nearly all of the cache; the others (HIR)
// pass through a queue Q of a hundredth of it. A stack S holds all LIR blocks, and HIR blocks,
// resident or not, that were used since the oldest LIR block was; an HIR block that is used while
// it is in S becomes LIR, and the LIR block at the bottom goes to Q. S is cut down to its lowest
// LIR block whenever that changes, and its oldest non-resident blocks are forgotten beyond twice
// the capacity, as libCacheSim has it. Blocks count by number: a size above 1 is not cached. A
// pinned block keeps its state; the scan for a victim passes over it.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

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
        ghosts_most_{static_cast<std::uint32_t>(setup.capacity + queue_most_) + 2},
        stack_{setup.slots + ghosts_most_, 1},
        queue_{setup.slots, 1},
        states_(setup.slots),
        ghost_age_{ghosts_most_, 1},
        ghost_key_(ghosts_most_) {
    free_ghosts_.reserve(ghosts_most_);
    for (std::uint32_t g = ghosts_most_; g-- > 0;) {
      free_ghosts_.push_back(g);
    }
    ghosts_.reserve(ghosts_most_);
  }

  bool on_miss(const entry_view& seen) override {
    returned_ = false;
    if (seen.size != 1) {
      return false;
    }
    if (auto found = ghosts_.find(seen.key); found != ghosts_.end()) {
      returned_ = true;
      drop_ghost(found->second);
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
    if (states_[slot].stacked && !free_ghosts_.empty()) {
      // The ghost takes its block's place in the stack.
      std::uint32_t ghost = free_ghosts_.back();
      free_ghosts_.pop_back();
      stack_.replace(slot, ghost_slot(ghost));
      ghost_key_[ghost] = key;
      ghost_age_.push_front(0, slot_id{ghost});
      ghosts_[key] = ghost;
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
    bool low = false;      // LIR
    bool stacked = false;  // in S
    bool pinned = false;
  };

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
    for (slot_id at = stack_.back(0); at < slots_ + ghosts_most_; at = stack_.before(at)) {
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
    ghost_age_.erase(slot_id{ghost});
    ghosts_.erase(ghost_key_[ghost]);
    free_ghosts_.push_back(ghost);
  }
  void limit() {
    while ((stacked_ > stack_most_ && !ghosts_.empty()) || free_ghosts_.empty()) {
      drop_ghost(ghost_age_.back(0));
    }
  }

  std::uint32_t slots_;
  std::int64_t queue_most_;
  std::int64_t low_most_;
  std::int64_t stack_most_;
  std::uint32_t ghosts_most_;
  std::int64_t low_ = 0;
  std::int64_t stacked_ = 0;  // places in S
  std::int64_t queued_ = 0;   // blocks in Q, pinned ones included
  slot_lists stack_;          // S: slots, then ghosts
  slot_lists queue_;          // Q
  std::vector<state> states_;
  slot_lists ghost_age_;
  std::vector<block_key> ghost_key_;
  std::vector<std::uint32_t> free_ghosts_;
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> ghosts_;
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
