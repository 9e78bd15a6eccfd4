// A heap of slots whose priorities change: the least priority on top, any slot found in O(1) and
// moved or removed in O(log n). Four children a node, since sifting down is the common case and
// memory is the cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// Slots 0 .. slots - 1 ordered by `Priority` (operator<), least on top.
template <class Priority>
class indexed_heap {
 public:
  explicit indexed_heap(std::uint32_t slots) : position_(slots, absent) { nodes_.reserve(slots); }

  bool empty() const { return nodes_.empty(); }
  bool contains(slot_id slot) const { return position_[slot] != absent; }
  slot_id top() const { return nodes_.front().slot; }
  const Priority& top_priority() const { return nodes_.front().priority; }

  /// Adds the slot, or moves it to its new priority.
  void set(slot_id slot, Priority priority) {
    std::uint32_t at = position_[slot];
    if (at == absent) {
      at = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({priority, slot});
      position_[slot] = at;
      sift_up(at);
      return;
    }
    bool up = priority < nodes_[at].priority;
    nodes_[at].priority = priority;
    up ? sift_up(at) : sift_down(at);
  }

  /// Takes the slot out; nothing when it is not in.
  void erase(slot_id slot) {
    std::uint32_t at = position_[slot];
    if (at == absent) {
      return;
    }
    position_[slot] = absent;
    node last = nodes_.back();
    nodes_.pop_back();
    if (at == nodes_.size()) {
      return;
    }
    bool up = last.priority < nodes_[at].priority;
    nodes_[at] = last;
    position_[last.slot] = at;
    up ? sift_up(at) : sift_down(at);
  }

 private:
  static constexpr std::uint32_t absent = UINT32_MAX;
  static constexpr std::uint32_t arity = 4;

  struct node {
    Priority priority;
    slot_id slot;
  };

  void place(std::uint32_t at, const node& n) {
    nodes_[at] = n;
    position_[n.slot] = at;
  }

  void sift_up(std::uint32_t at) {
    node moving = nodes_[at];
    while (at > 0) {
      std::uint32_t parent = (at - 1) / arity;
      if (!(moving.priority < nodes_[parent].priority)) {
        break;
      }
      place(at, nodes_[parent]);
      at = parent;
    }
    place(at, moving);
  }

  void sift_down(std::uint32_t at) {
    node moving = nodes_[at];
    auto size = static_cast<std::uint32_t>(nodes_.size());
    for (;;) {
      std::uint32_t child = at * arity + 1;
      if (child >= size) {
        break;
      }
      std::uint32_t end = std::min(child + arity, size);
      std::uint32_t least = child;
      while (++child < end) {
        if (nodes_[child].priority < nodes_[least].priority) {
          least = child;
        }
      }
      if (!(nodes_[least].priority < moving.priority)) {
        break;
      }
      place(at, nodes_[least]);
      at = least;
    }
    place(at, moving);
  }

  std::vector<node> nodes_;
  std::vector<std::uint32_t> position_;
};

}  // namespace refrain
