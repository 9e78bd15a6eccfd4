// The cache that eviction policies serve: the map from key to slot, sizes and pins. It has no time
// and no messages, so the same code runs in the tight loop of replay (with the policy's concrete
// type) and inside an executor (with the interface). Room is counted in units of entry size;
// replay's default unit is one block.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/eviction.hpp"
#include "policies/key_map.hpp"
#include "traces/error.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Entries of a cache of `capacity` units under `Policy`. `slots` bounds the number of entries; an
/// unbounded cache (capacity < 0) grows and never evicts.
template <class Policy>
class cache {
 public:
  cache(Policy& policy, std::int64_t capacity, std::uint32_t slots)
      : policy_{policy}, capacity_{capacity}, map_{slots}, pins_(slots) {}

  /// The slot of a resident key, or no_slot.
  slot_id find(block_key key) const { return map_.find(key); }
  /// The map, for look-ups in steps.
  const key_map& keys() const { return map_; }

  /// The key of an entry, also of the one that was removed last.
  block_key key_of(slot_id slot) const { return map_.key_of(slot); }
  std::uint32_t pins_of(slot_id slot) const { return pins_[slot]; }
  std::int64_t occupied() const { return occupied_; }
  std::int64_t resident() const { return static_cast<std::int64_t>(map_.size()); }
  /// Entries that no request uses.
  std::int64_t unpinned() const { return resident() - pinned_; }
  bool fits(std::uint32_t size) const { return capacity_ < 0 || occupied_ + size <= capacity_; }
  std::int64_t capacity() const { return capacity_; }

  /// Adds an entry that is not resident and fits, and tells the policy. Inlined, or else every miss
  /// of a replay would write a whole entry_view to memory.
  [[gnu::always_inline]] slot_id insert(const entry_view& entry) {
    REFRAIN_ASSERT(!refrain_debug_checks || find(entry.key) == no_slot);
    slot_id slot = take_slot();
    if (entry.size != 1 || !sizes_.empty()) {
      remember_size(slot, entry.size);
    }
    occupied_ += entry.size;
    map_.insert(entry.key, slot);
    policy_.on_insert(slot, entry);
    return slot;
  }

  /// Removes the policy's victim; no_slot when the policy has none (leaf scope). Some entry must be
  /// unpinned. Inlined, or else every miss of a replay would save its registers twice.
  [[gnu::always_inline]] slot_id evict() {
    slot_id slot = policy_.victim();
    if (slot != no_slot) {
      REFRAIN_ASSERT(pinned_ == 0 || pins_[slot] == 0);
      policy_.on_evict(slot, map_.key_of(slot));
      forget(slot);
      foresee();
    }
    return slot;
  }

  /// Removes an unpinned entry and tells the policy.
  void remove(slot_id slot) {
    policy_.on_remove(slot);
    forget(slot);
  }

  /// One more request uses the entry.
  void pin(slot_id slot) {
    if (pins_[slot]++ == 0) {
      ++pinned_;
      policy_.on_pin(slot);
    }
  }
  /// One request less uses it; true when it was the last.
  bool unpin(slot_id slot) {
    REFRAIN_ASSERT(pins_[slot] > 0);
    if (--pins_[slot] > 0) {
      return false;
    }
    --pinned_;
    policy_.on_unpin(slot);
    return true;
  }

 private:
  /// Starts loading what the next eviction will read, where the policy can guess it.
  void foresee() {
    if constexpr (requires { policy_.near_victim(); }) {
      if (slot_id next = policy_.near_victim(); next != no_slot) {
        map_.prefetch(next);
      }
    }
  }
  void forget(slot_id slot) {
    map_.erase(slot);
    occupied_ -= sizes_.empty() ? 1 : sizes_[slot];
    free_.push_back(slot);
  }
  slot_id take_slot() {
    if (!free_.empty()) {
      slot_id slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (used_ == pins_.size()) {
      REFRAIN_ASSERT(capacity_ < 0);
      pins_.resize(used_ * 2 + 1);
    }
    return slot_id{used_++};
  }
  void remember_size(slot_id slot, std::uint32_t size) {
    if (sizes_.size() < pins_.size()) {
      sizes_.resize(pins_.size(), 1);
    }
    sizes_[slot] = size;
  }

  Policy& policy_;
  std::int64_t capacity_;
  std::int64_t occupied_ = 0;
  std::int64_t pinned_ = 0;
  std::uint32_t used_ = 0;
  key_map map_;
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  std::vector<std::uint32_t> pins_;
  std::vector<slot_id> free_;
};

}  // namespace refrain
