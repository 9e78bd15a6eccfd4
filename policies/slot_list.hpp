// Doubly linked lists of slots in one array, for recency and insertion orders. A list's ends are
// sentinels behind the slots, so no operation branches; a slot is in at most one of the lists.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// `lists` lists over the slots 0 .. slots - 1.
class slot_lists {
 public:
  slot_lists(std::uint32_t slots, std::uint32_t lists) : links_(slots + lists), slots_{slots} {
    for (std::uint32_t i = slots; i < slots + lists; ++i) {
      links_[i] = {i, i};
    }
  }

  bool empty(std::uint32_t list) const { return links_[slots_ + list].next == slots_ + list; }
  slot_id front(std::uint32_t list) const { return slot_id{links_[slots_ + list].next}; }
  slot_id back(std::uint32_t list) const { return slot_id{links_[slots_ + list].prev}; }

  void push_front(std::uint32_t list, slot_id slot) {
    insert_between(slots_ + list, slot, links_[slots_ + list].next);
  }
  void push_back(std::uint32_t list, slot_id slot) {
    insert_between(links_[slots_ + list].prev, slot, slots_ + list);
  }
  void erase(slot_id slot) {
    link at = links_[slot];
    links_[at.prev].next = at.next;
    links_[at.next].prev = at.prev;
  }
  /// The slot behind which `slot` stands; a number beyond all slots at the front.
  slot_id before(slot_id slot) const { return slot_id{links_[slot].prev}; }
  /// Puts a slot that is in no list in the place of one that is, which is in none then.
  void replace(slot_id slot, slot_id by) {
    link at = links_[slot];
    links_[by] = at;
    links_[at.prev].next = by;
    links_[at.next].prev = by;
  }
  /// Takes the slot out and marks it as in no list.
  void detach(slot_id slot) {
    erase(slot);
    links_[slot] = {slot, slot};
  }
  /// Whether a slot that was once listed is in a list: false after detach.
  bool linked(slot_id slot) const { return links_[slot].next != slot; }

 private:
  struct link {
    std::uint32_t prev;
    std::uint32_t next;
  };

  void insert_between(std::uint32_t before, std::uint32_t slot, std::uint32_t after) {
    links_[slot] = {before, after};
    links_[before].next = slot;
    links_[after].prev = slot;
  }

  std::vector<link> links_;
  std::uint32_t slots_;
};

}  // namespace refrain
