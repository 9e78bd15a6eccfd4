// Slots by rank, for policies that evict the least of some value (GDSF, LRFU, segmented LRU), flat
// or with leaf scope: a heap with four children a node whose vector holds, behind the heap, the
// slots that may not give way now - pinned ones, and under leaf scope those with resident children.
// So a slot keeps its value wherever it is, at 24 bytes a slot (28 under leaf scope).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/error.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Slots 0 .. slots - 1 by `Value` (operator<), equal ones by least recent touch. Touches are
/// numbered in 32 bits: ties are exact between slots touched less than 2^31 touches apart.
template <class Value>
class ranking {
 public:
  ranking(std::uint32_t slots, bool leaf_scope)
      : positions_(slots), holds_(slots), parents_(leaf_scope ? slots : 0) {
    nodes_.reserve(slots);
  }

  /// Adds a slot, just touched; `parent` counts under leaf scope only.
  void add(slot_id slot, Value value, slot_id parent) {
    holds_[slot] = 0;
    nodes_.push_back({value, ++clock_, slot});
    auto at = static_cast<std::uint32_t>(nodes_.size() - 1);
    if (at != waiting_) {
      place(at, nodes_[waiting_]);
    }
    settle_up(waiting_++, {value, clock_, slot});
    if (!parents_.empty()) {
      parents_[slot] = parent;
      if (parent != no_slot) {
        hold(parent, one_child);
      }
    }
  }
  /// Takes out a slot that may give way.
  void remove(slot_id slot) {
    REFRAIN_ASSERT(holds_[slot] == 0);
    park(slot);
    std::uint32_t at = positions_[slot];
    if (at + 1 != nodes_.size()) {
      place(at, nodes_.back());
    }
    nodes_.pop_back();
    if (!parents_.empty() && parents_[slot] != no_slot) {
      let_go(parents_[slot], one_child);
    }
  }

  const Value& value(slot_id slot) const { return nodes_[positions_[slot]].value; }
  /// A new value for a slot that is touched now.
  void touch(slot_id slot, Value value) {
    std::uint32_t at = positions_[slot];
    node moved{value, ++clock_, slot};
    if (at >= waiting_) {
      nodes_[at] = moved;
    } else if (moved < nodes_[at]) {
      settle_up(at, moved);
    } else {
      settle_down(at, moved);
    }
  }

  void pin(slot_id slot) { hold(slot, one_pin); }
  void unpin(slot_id slot) { let_go(slot, one_pin); }

  /// The slot of the least value, or no_slot when none may give way.
  slot_id least() const { return waiting_ == 0 ? no_slot : nodes_.front().slot; }

 private:
  static constexpr std::uint32_t arity = 4;
  static constexpr std::uint32_t one_pin = 1;
  static constexpr std::uint32_t one_child = 2;

  struct node {
    Value value;
    std::uint32_t time;
    slot_id slot;
    friend bool operator<(const node& a, const node& b) {
      if (a.value < b.value || b.value < a.value) {
        return a.value < b.value;
      }
      return static_cast<std::int32_t>(a.time - b.time) < 0;
    }
  };

  void hold(slot_id slot, std::uint32_t reason) {
    if (holds_[slot] == 0) {
      park(slot);
    }
    holds_[slot] += reason;
  }
  void let_go(slot_id slot, std::uint32_t reason) {
    holds_[slot] -= reason;
    if (holds_[slot] == 0) {
      unpark(slot);
    }
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
    node back = nodes_[at];
    if (at != waiting_) {
      place(at, nodes_[waiting_]);
    }
    settle_up(waiting_++, back);
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

  std::vector<node> nodes_;  // the heap, then the slots that may not give way
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> holds_;  // pins count 1, resident children 2 each
  std::vector<slot_id> parents_;
  std::uint32_t waiting_ = 0;  // slots in the heap
  std::uint32_t clock_ = 0;
};

}  // namespace refrain
