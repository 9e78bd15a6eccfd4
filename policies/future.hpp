// The future of a trace, for clairvoyant policies only: which requests hold each block, in trace
// order. Its size grows with the trace; it is shared read-only by all contenders.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// The row of a request that never comes.
inline constexpr std::uint64_t never = UINT64_MAX;

/// Rows of the trace by block.
class future {
 public:
  /// Requests are added in trace order.
  void add(request_id row, const std::vector<block_key>& blocks);

  /// The first row after `row` that holds `key`, or `never`. O(log uses of the key).
  std::uint64_t next_use(block_key key, request_id row) const;

 private:
  absl::flat_hash_map<block_key, std::vector<std::uint64_t>> rows_;
};

}  // namespace refrain
