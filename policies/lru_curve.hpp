// All of LRU's hit counts from one pass. LRU's contents at one capacity are the top of its stack at
// any other, so an access hits at every capacity above the greatest stack position of its request's
// blocks up to it (prefix rule) or of itself (flat rule). Positions are counted on a line of marks,
// one for the last access of each block, with the sums of groups of marks kept beside it: a few
// dozen additions an access, whatever the trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/replay.hpp"

namespace refrain {

class lru_stack;

/// Hits of the policy lru at every capacity, sizes being 1.
class lru_curve {
 public:
  /// `front`: blocks of a request are touched head first, as lru:order=front. Sizes must be 1.
  lru_curve(const access_columns& columns, replay_rule rule, bool front);

  /// What replay(columns, "lru", ...) gives at this capacity; `seconds` is of the whole pass.
  replay_result at(std::int64_t capacity) const;

 private:
  void pass_flat(const access_columns& columns, lru_stack& stack);
  void pass_prefix(const access_columns& columns, lru_stack& stack, bool front);
  /// A hit, or none, that is not in the counts yet.
  struct noted {
    std::uint64_t position;
    std::uint32_t tokens;
    std::uint32_t hits;
  };
  void note(const access_columns& columns, std::uint64_t access, std::uint64_t position);
  void add(const noted& one);

  std::vector<std::uint32_t> counts_;  // while it passes: hits at each position
  std::vector<std::uint64_t> hits_;    // [c - 1]: of capacity c
  std::vector<std::uint64_t> tokens_;  // likewise; empty where unknown
  std::array<noted, 16> noted_{};
  std::size_t noted_count_ = 0;
  replay_result whole_;  // what does not depend on the capacity
};

}  // namespace refrain
