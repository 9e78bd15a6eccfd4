// Two queues of slots, oldest first, whose pinned members keep their place: what FIFO, S3-FIFO and
// SIEVE are made of. A scan for the oldest takes a pinned slot that it meets out of the list, once;
// unpinned, it waits in a heap by number of arrival beside the list, so a search costs O(log n)
// amortised however many slots are pinned. Both heaps face each other in one array, and a slot's
// position in its heap lies in the links that it no longer needs. What is known of a slot lies in
// 16 bytes side by side, since a miss costs what its cache lines cost: 20 bytes per slot in all.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// Queues 0 and 1 over the slots 0 .. slots - 1. Numbers of arrival have 32 bits: places are exact
/// as long as no two slots in one queue came more than 2^31 arrivals apart.
class slot_queues {
 public:
  explicit slot_queues(std::uint32_t slots) : nodes_(slots + 2), heap_(slots), slots_{slots} {
    for (std::uint32_t end : {slots, slots + 1}) {
      nodes_[end].next = nodes_[end].prev = end;
    }
  }

  /// Adds a slot that is in no queue and not pinned, as the newest.
  void push(std::uint32_t queue, slot_id slot) { list(queue, slot, ++clock_); }
  /// Takes an unpinned slot out.
  void erase(slot_id slot) {
    if (nodes_[slot].place == listed) {
      unlist(slot);
    } else {
      leave_heap(slot);
    }
  }
  /// Makes an unpinned slot the last of a queue with the number that it has.
  void move(std::uint32_t queue, slot_id slot) {
    erase(slot);
    list(queue, slot, nodes_[slot].number);
  }

  void pin(slot_id slot) {
    nodes_[slot].pinned = true;
    if (nodes_[slot].place == waiting) {
      leave_heap(slot);
      nodes_[slot].place = passed;
    }
  }
  void unpin(slot_id slot) { unpin(slot, queue_of(slot)); }
  /// Unpins; a slot that a scan had passed over takes up its place in `queue`.
  void unpin(slot_id slot, std::uint32_t queue) {
    nodes_[slot].pinned = false;
    if (nodes_[slot].place == passed) {
      nodes_[slot].queue = queue != 0;
      enter_heap(slot);
    }
  }

  /// The unpinned slot that came first, or no_slot.
  slot_id oldest(std::uint32_t queue) {
    if (counts_[queue] == 0 && !listed_none(queue) && !nodes_[last(queue)].pinned) {
      return last(queue);
    }
    return oldest_beside_pinned(queue);
  }

  /// What oldest() is likely to name, or no_slot.
  slot_id near_oldest(std::uint32_t queue) const {
    return listed_none(queue) ? no_slot : last(queue);
  }

  /// Whether nothing stands in the queue but pinned slots that a scan has passed over.
  bool empty(std::uint32_t queue) const { return listed_none(queue) && counts_[queue] == 0; }
  std::uint32_t queue_of(slot_id slot) const { return nodes_[slot].queue; }
  /// The slot's number of arrival.
  std::uint32_t number_of(slot_id slot) const { return nodes_[slot].number; }
  /// Whether arrival `a` was before arrival `b`.
  static bool before_number(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
  }

 private:
  enum place : std::uint8_t { listed, passed, waiting };
  struct node {
    std::uint32_t prev;  // in a heap: the position there
    std::uint32_t next;
    std::uint32_t number;
    std::uint8_t place : 2;
    bool queue : 1;
    bool pinned : 1;
  };

  // The ends of both lists are nodes behind the slots', so no operation branches.
  bool listed_none(std::uint32_t queue) const {
    return nodes_[slots_ + queue].next == slots_ + queue;
  }
  slot_id last(std::uint32_t queue) const { return slot_id{nodes_[slots_ + queue].prev}; }
  void list(std::uint32_t queue, slot_id slot, std::uint32_t number) {
    std::uint32_t end = slots_ + queue;
    std::uint32_t first = nodes_[end].next;
    nodes_[slot] = {end, first, number, listed, queue != 0, false};
    nodes_[first].prev = slot;
    nodes_[end].next = slot;
  }
  void unlist(slot_id slot) {
    node at = nodes_[slot];
    nodes_[at.prev].next = at.next;
    nodes_[at.next].prev = at.prev;
  }

  // Where nothing was ever pinned, as in a flat replay, what follows is called for empty queues
  // only.
  [[gnu::noinline]] slot_id oldest_beside_pinned(std::uint32_t queue) {
    slot_id top = counts_[queue] > 0 ? slot_id{cell(queue, 0)} : no_slot;
    while (!listed_none(queue)) {
      slot_id end = last(queue);
      if (top != no_slot && before(top, end)) {
        break;
      }
      if (!nodes_[end].pinned) {
        return end;
      }
      unlist(end);
      nodes_[end].place = passed;
    }
    return top;
  }

  bool before(slot_id a, slot_id b) const {
    return before_number(nodes_[a].number, nodes_[b].number);
  }

  std::uint32_t& cell(std::uint32_t queue, std::size_t at) {
    return heap_[queue == 0 ? at : heap_.size() - 1 - at];
  }
  void put(std::uint32_t queue, std::uint32_t at, slot_id slot) {
    cell(queue, at) = slot;
    nodes_[slot].prev = at;
  }

  [[gnu::noinline]] void enter_heap(slot_id slot) {
    nodes_[slot].place = waiting;
    std::uint32_t queue = queue_of(slot);
    rise(queue, counts_[queue]++, slot);
  }
  [[gnu::noinline]] void leave_heap(slot_id slot) {
    std::uint32_t queue = queue_of(slot);
    std::uint32_t at = nodes_[slot].prev;
    slot_id last{cell(queue, --counts_[queue])};
    if (last != slot) {
      sink(queue, at, last);
      rise(queue, nodes_[last].prev, last);
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

  std::vector<node> nodes_;
  std::vector<std::uint32_t> heap_;  // queue 0 from the left, queue 1 from the right
  std::uint32_t slots_;
  std::uint32_t counts_[2] = {0, 0};
  std::uint32_t clock_ = 0;
};

}  // namespace refrain
