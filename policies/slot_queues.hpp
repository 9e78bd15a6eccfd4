// Two queues of slots, oldest first, whose pinned members keep their place: what FIFO, S3-FIFO and
// SIEVE are made of. A scan for the oldest takes a pinned slot that it meets out of the list, once;
// unpinned, it waits in a heap by number of arrival beside the list, so a search costs O(log n)
// amortised however many slots are pinned. Both heaps face each other in one array, and a slot's
// position in its heap lies in the links that it no longer needs: 13 bytes per slot beside the
// list.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "policies/slot_list.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Queues 0 and 1 over the slots 0 .. slots - 1. Numbers of arrival have 32 bits: places are exact
/// as long as no two slots in one queue came more than 2^31 arrivals apart.
class slot_queues {
 public:
  explicit slot_queues(std::uint32_t slots)
      : order_{slots, 2}, numbers_(slots), states_(slots), heap_(slots) {}

  /// Adds a slot that is in no queue and not pinned, as the newest.
  void push(std::uint32_t queue, slot_id slot) {
    numbers_[slot] = ++clock_;
    list(queue, slot);
  }
  /// Takes an unpinned slot out.
  void erase(slot_id slot) {
    if (states_[slot].place == listed) {
      order_.erase(slot);
    } else {
      leave_heap(slot);
    }
  }
  /// Makes an unpinned slot the last of a queue with the number that it has.
  void move(std::uint32_t queue, slot_id slot) {
    erase(slot);
    list(queue, slot);
  }

  void pin(slot_id slot) {
    states_[slot].pinned = true;
    if (states_[slot].place == waiting) {
      leave_heap(slot);
      states_[slot].place = passed;
    }
  }
  void unpin(slot_id slot) { unpin(slot, queue_of(slot)); }
  /// Unpins; a slot that a scan had passed over takes up its place in `queue`.
  void unpin(slot_id slot, std::uint32_t queue) {
    states_[slot].pinned = false;
    if (states_[slot].place == passed) {
      states_[slot].queue = queue != 0;
      enter_heap(slot);
    }
  }

  /// The unpinned slot that came first, or no_slot.
  slot_id oldest(std::uint32_t queue) {
    slot_id top = counts_[queue] > 0 ? slot_id{cell(queue, 0)} : no_slot;
    while (!order_.empty(queue)) {
      slot_id last = order_.back(queue);
      if (top != no_slot && before(top, last)) {
        break;
      }
      if (!states_[last].pinned) {
        return last;
      }
      order_.detach(last);
      states_[last].place = passed;
    }
    return top;
  }

  /// What oldest() is likely to name, or no_slot.
  slot_id near_oldest(std::uint32_t queue) const {
    return order_.empty(queue) ? no_slot : order_.back(queue);
  }

  /// Whether nothing stands in the queue but pinned slots that a scan has passed over.
  bool empty(std::uint32_t queue) const { return order_.empty(queue) && counts_[queue] == 0; }
  std::uint32_t queue_of(slot_id slot) const { return states_[slot].queue; }
  /// The slot's number of arrival.
  std::uint32_t number_of(slot_id slot) const { return numbers_[slot]; }
  /// Whether arrival `a` was before arrival `b`.
  static bool before_number(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
  }

 private:
  enum place : std::uint8_t { listed, passed, waiting };
  struct state {
    std::uint8_t place : 2;
    bool queue : 1;
    bool pinned : 1;
  };

  void list(std::uint32_t queue, slot_id slot) {
    states_[slot] = {listed, queue != 0, false};
    order_.push_front(queue, slot);
  }

  bool before(slot_id a, slot_id b) const { return before_number(numbers_[a], numbers_[b]); }

  std::uint32_t& cell(std::uint32_t queue, std::size_t at) {
    return heap_[queue == 0 ? at : heap_.size() - 1 - at];
  }
  void put(std::uint32_t queue, std::uint32_t at, slot_id slot) {
    cell(queue, at) = slot;
    order_.note(slot) = at;
  }

  void enter_heap(slot_id slot) {
    states_[slot].place = waiting;
    std::uint32_t queue = queue_of(slot);
    rise(queue, counts_[queue]++, slot);
  }
  void leave_heap(slot_id slot) {
    std::uint32_t queue = queue_of(slot);
    std::uint32_t at = order_.note(slot);
    slot_id last{cell(queue, --counts_[queue])};
    if (last != slot) {
      sink(queue, at, last);
      rise(queue, order_.note(last), last);
    }
  }
  void rise(std::uint32_t queue, std::uint32_t at, slot_id slot) {
    while (at > 0) {
      slot_id parent{cell(queue, (at - 1) / 2)};
      if (!before(slot, parent)) {
        break;
      }
      put(queue, at, parent);
      at = (at - 1) / 2;
    }
    put(queue, at, slot);
  }
  void sink(std::uint32_t queue, std::uint32_t at, slot_id slot) {
    for (std::uint32_t child; (child = at * 2 + 1) < counts_[queue]; at = child) {
      if (child + 1 < counts_[queue] &&
          before(slot_id{cell(queue, child + 1)}, slot_id{cell(queue, child)})) {
        ++child;
      }
      if (!before(slot_id{cell(queue, child)}, slot)) {
        break;
      }
      put(queue, at, slot_id{cell(queue, child)});
    }
    put(queue, at, slot);
  }

  slot_lists order_;
  std::vector<std::uint32_t> numbers_;
  std::vector<state> states_;
  std::vector<std::uint32_t> heap_;  // queue 0 from the left, queue 1 from the right
  std::uint32_t counts_[2] = {0, 0};
  std::uint32_t clock_ = 0;
};

}  // namespace refrain
