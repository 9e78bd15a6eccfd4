// Slots by rank, for policies that evict the least of some value (LFU, GDSF, LRFU, segmented LRU),
// flat or with leaf scope: a heap with four children a node whose vector holds, behind the heap,
// the slots that may not give way now - pinned ones, and under leaf scope those with resident
// children. Flat, the heap is lazy: a touch that does not lower a slot's rank only notes it, and a
// node is moved down when it comes to the top with an old rank. So a hit costs O(1), and what it
// saves is paid at most once by a later eviction. Under leaf scope most slots that are touched are
// behind the heap, so nodes are moved at once and ranks are kept in them only. Flat 24 bytes a slot
// with 4-byte values and 32 with 8 bytes, under leaf scope 24 and 28.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/error.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Slots 0 .. slots - 1 by `Value` (a number), equal ones by least recent touch. Touches are
/// numbered in 32 bits: ties are exact between slots touched less than 2^31 touches apart.
template <class Value>
class ranking {
 public:
  ranking(std::uint32_t slots, bool leaf_scope)
      : lazy_{!leaf_scope},
        ranks_(leaf_scope ? 0 : slots),
        positions_(slots),
        holds_(leaf_scope ? slots : 0),
        parents_(leaf_scope ? slots : 0) {
    nodes_.reserve(slots);
  }

  /// Adds a slot, just touched; `parent` counts under leaf scope only.
  void add(slot_id slot, Value value, slot_id parent) {
    node added{value, ++clock_, slot};
    if (lazy_) {
      ranks_[slot] = {value, clock_};
    }
    if (hole_) {
      hole_ = false;
      settle_down(0, added);
    } else {
      nodes_.push_back(added);
      auto at = static_cast<std::uint32_t>(nodes_.size() - 1);
      if (at != waiting_) {
        place(at, nodes_[waiting_]);
      }
      settle_up(waiting_++, added);
    }
    if (!parents_.empty()) {
      holds_[slot] = 0;
      parents_[slot] = parent;
      if (parent != no_slot) {
        hold(parent, one_child);
      }
    }
  }
  /// Takes out a slot that may give way.
  void remove(slot_id slot) {
    fill_hole();
    std::uint32_t at = positions_[slot];
    REFRAIN_ASSERT(at < waiting_);
    if (at == 0) {
      hole_ = true;  // the next slot added often takes the place
    } else {
      park(slot);
      drop_parked(positions_[slot]);
    }
    if (!parents_.empty() && parents_[slot] != no_slot) {
      let_go(parents_[slot], one_child);
    }
  }

  Value value(slot_id slot) const { return current(slot).value; }
  /// A new value for a slot that is touched now.
  void touch(slot_id slot, Value value) {
    if (!lazy_) {
      move_node({value, ++clock_, slot});
      return;
    }
    bool lower = value < ranks_[slot].value;
    ranks_[slot] = {value, ++clock_};
    if (lower) {
      lower_node(slot);
    }
  }

  void pin(slot_id slot) { hold(slot, one_pin); }
  void unpin(slot_id slot) { let_go(slot, one_pin); }

  /// The slot of the least value, or no_slot when none may give way.
  slot_id least() {
    fill_hole();
    while (waiting_ > 0) {
      slot_id top{nodes_[0].slot};
      if (!lazy_ || nodes_[0].time == ranks_[top].time) {
        return top;
      }
      settle_down(0, current(top));
    }
    return no_slot;
  }
  /// A slot that least() may well name next, or no_slot.
  slot_id near_least() const {
    std::size_t at = hole_ ? 1 : 0;
    return at < waiting_ ? slot_id{nodes_[at].slot} : no_slot;
  }

 private:
  static constexpr std::uint32_t arity = 4;
  static constexpr std::uint32_t one_pin = 1;
  static constexpr std::uint32_t one_child = 2;

  // Packed: 12 bytes with a double.
  struct __attribute__((packed)) rank {
    Value value;
    std::uint32_t time;
  };
  struct node {
    Value value;
    std::uint32_t time;
    std::uint32_t slot;
    friend bool operator<(const node& a, const node& b) {
      if (a.value < b.value || b.value < a.value) {
        return a.value < b.value;
      }
      return static_cast<std::int32_t>(a.time - b.time) < 0;
    }
  };

  node current(slot_id slot) const {
    return lazy_ ? node{ranks_[slot].value, ranks_[slot].time, slot} : nodes_[positions_[slot]];
  }
  bool is_parked(slot_id slot) const { return positions_[slot] >= waiting_; }

  void hold(slot_id slot, std::uint32_t reason) {
    if (!is_parked(slot)) {
      fill_hole();
      park(slot);
    }
    if (!holds_.empty()) {
      holds_[slot] += reason;
    }
  }
  void let_go(slot_id slot, std::uint32_t reason) {
    if (!holds_.empty()) {
      holds_[slot] -= reason;
      if (holds_[slot] > 0) {
        return;
      }
    }
    fill_hole();
    unpark(slot);
  }

  void lower_node(slot_id slot) {
    fill_hole();
    std::uint32_t at = positions_[slot];
    node moved = current(slot);
    if (at < waiting_ && moved < nodes_[at]) {
      settle_up(at, moved);
    }
  }

  void move_node(const node& moved) {
    if (is_parked(slot_id{moved.slot})) {
      nodes_[positions_[moved.slot]] = moved;
      return;
    }
    fill_hole();
    std::uint32_t at = positions_[moved.slot];
    moved < nodes_[at] ? settle_up(at, moved) : settle_down(at, moved);
  }

  /// From the heap to the first place behind it.
  void park(slot_id slot) {
    std::uint32_t at = positions_[slot];
    node parked = nodes_[at];
    node last = nodes_[--waiting_];
    place(waiting_, parked);
    if (at == waiting_) {
      return;
    }
    if (last < parked) {
      settle_up(at, last);
    } else {
      settle_down(at, last);
    }
  }
  void unpark(slot_id slot) {
    std::uint32_t at = positions_[slot];
    node waiting = current(slot);
    if (at != waiting_) {
      place(at, nodes_[waiting_]);
    }
    settle_up(waiting_++, waiting);
  }
  void drop_parked(std::uint32_t at) {
    if (at + 1 != nodes_.size()) {
      place(at, nodes_.back());
    }
    nodes_.pop_back();
  }
  /// Nothing stands at the top of the heap: its last node takes the place.
  void fill_hole() {
    if (!hole_) {
      return;
    }
    hole_ = false;
    node last = nodes_[--waiting_];
    drop_parked(waiting_);
    if (waiting_ > 0) {
      settle_down(0, last);
    }
  }

  void place(std::uint32_t at, const node& n) {
    nodes_[at] = n;
    positions_[n.slot] = at;
  }

  void settle_up(std::uint32_t at, node moving) {
    while (at > 0) {
      std::uint32_t parent = (at - 1) / arity;
      if (!(moving < nodes_[parent])) {
        break;
      }
      place(at, nodes_[parent]);
      at = parent;
    }
    place(at, moving);
  }

  void settle_down(std::uint32_t at, node moving) {
    for (;;) {
      std::uint32_t child = at * arity + 1;
      if (child >= waiting_) {
        break;
      }
      std::uint32_t end = std::min(child + arity, waiting_);
      std::uint32_t least = child;
      while (++child < end) {
        if (nodes_[child] < nodes_[least]) {
          least = child;
        }
      }
      if (!(nodes_[least] < moving)) {
        break;
      }
      place(at, nodes_[least]);
      at = least;
    }
    place(at, moving);
  }

  bool lazy_;
  std::vector<rank> ranks_;  // what a lazy heap's nodes may lag behind
  std::vector<node> nodes_;  // the heap, then the slots that may not give way; never below its rank
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> holds_;  // leaf scope: pins count 1, resident children 2 each
  std::vector<slot_id> parents_;
  std::uint32_t waiting_ = 0;  // slots in the heap
  std::uint32_t clock_ = 0;
  bool hole_ = false;  // the slot at the top was removed
};

}  // namespace refrain
