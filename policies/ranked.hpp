// What the policies share that evict the block of least value: the parameters `scope` and
// `history`, pins, and what is remembered of blocks that left. A policy derives from
// ranked_eviction, gives values in on_insert and on_hit, and adds what is its own.
#pragma once

#include <absl/container/flat_hash_map.h>

#include "policies/ranking.hpp"
#include "policies/replay_loop.hpp"

namespace refrain {

/// The parameter `scope`; needs.tree follows from it.
inline parameter scope_parameter() {
  return {.name = "scope",
          .type = parameter_type::choice,
          .standard = "flat",
          .description = "leaf: a block with resident children is no victim",
          .choices = {"flat", "leaf"}};
}
/// The parameter `history`; key_history follows from it.
inline parameter history_parameter() {
  return {.name = "history",
          .type = parameter_type::choice,
          .standard = "forgotten",
          .description = "kept: what is known of a block survives its eviction (grows with blocks)",
          .choices = {"forgotten", "kept"}};
}

/// What is known of evicted blocks, where history is kept.
template <class Value>
class key_history {
 public:
  explicit key_history(const parameters& values) : kept_{values.choice("history") == "kept"} {}

  void keep(block_key key, const Value& value) {
    if (kept_) {
      past_.insert_or_assign(key, value);
    }
  }
  /// What was kept of a block, or `fresh`.
  Value recall(block_key key, const Value& fresh) const {
    if (kept_) {
      if (auto found = past_.find(key); found != past_.end()) {
        return found->second;
      }
    }
    return fresh;
  }

 private:
  bool kept_;
  absl::flat_hash_map<block_key, Value, key_hash> past_;
};

/// Sizes of slots, at no cost while all are 1.
class slot_sizes {
 public:
  explicit slot_sizes(std::uint32_t slots) : slots_{slots} {}

  void set(slot_id slot, std::uint32_t size) {
    if (size != 1 || !sizes_.empty()) {
      remember(slot, size);
    }
  }
  std::uint32_t operator[](slot_id slot) const { return sizes_.empty() ? 1 : sizes_[slot]; }

 private:
  void remember(slot_id slot, std::uint32_t size) {
    if (sizes_.empty()) {
      sizes_.resize(slots_, 1);
    }
    sizes_[slot] = size;
  }

  std::uint32_t slots_;
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
};

/// A policy that evicts the block of least `Value`, ties by least recent touch. Under leaf scope a
/// request's blocks are touched again as they are unpinned, the tail first, so that among equals
/// the deepest gives way.
template <class Value>
class ranked_eviction : public eviction {
 public:
  static eviction_needs needs(const parameters& values) {
    return {.tree = values.choice("scope") == "leaf"};
  }

  void on_pin(slot_id slot) override { ranks_.pin(slot); }
  void on_unpin(slot_id slot) override {
    if (leaf_) {
      ranks_.touch(slot, ranks_.value(slot));
    }
    ranks_.unpin(slot);
  }
  slot_id victim() override { return ranks_.least(); }
  void on_remove(slot_id slot) override { ranks_.remove(slot); }

  slot_id near_victim() const { return ranks_.near_least(); }

 protected:
  ranked_eviction(const eviction_setup& setup, bool leaf)
      : leaf_{leaf}, ranks_{setup.slots, leaf} {}
  ranked_eviction(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{setup, values.choice("scope") == "leaf"} {}

  bool leaf_;
  ranking<Value> ranks_;
};

}  // namespace refrain
