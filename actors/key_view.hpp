// Who holds which block, as far as somebody knows: for every key the set of executors where it is
// findable, one bit each in groups of 64. A key that nobody holds is forgotten, so the memory is
// bounded by what the executors hold. Plain object: no time, no messages.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policies/key_map.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// A block became findable in an executor, or ceased to be.
struct key_change {
  block_key key;
  bool findable;
};

/// Keys and their holders among executors 0 .. executors - 1.
class key_view {
 public:
  explicit key_view(std::size_t executors);
  std::size_t executors() const { return executors_; }

  /// Takes in what happened in one executor, in order. What is known already changes nothing.
  void apply(std::size_t executor, std::span<const key_change> changes);

  /// Sets runs[e] to the number of leading keys of the chain that executor e holds; one pass, which
  /// ends where nobody holds on. `runs` has one place per executor.
  void leading_runs(std::span<const block_key> chain, std::span<std::int64_t> runs) const;
  /// Keys that somebody holds, counted once per group of 64 executors.
  std::size_t size() const;

 private:
  using holders = std::uint64_t;  // bit i: executor i of the group
  using group = absl::flat_hash_map<block_key, holders, key_hash>;

  static constexpr std::size_t group_size = 64;
  static holders holders_of(const group& keys, block_key key);

  std::size_t executors_;
  std::vector<group> groups_;
};

}  // namespace refrain
