// Small traces for tests of replay, drawn from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/replay.hpp"
#include "traces/random.hpp"

namespace refrain::testing {

/// Requests over chains of blocks of 512 tokens that branch: a few families, shared heads, tails of
/// their own. One request a second.
inline access_columns chain_columns(std::uint64_t requests, std::uint64_t seed) {
  random_stream random{seed, "chains"};
  access_columns columns;
  columns.has_chains = true;
  columns.block_tokens = token_count{512};
  for (std::uint64_t r = 0; r < requests; ++r) {
    std::uint64_t before = random.below(random.below(12) + 1);
    std::uint64_t shared = random.below(9);
    std::uint64_t length = shared + 1 + random.below(5);
    columns.starts.push_back(columns.keys.size());
    for (std::uint64_t i = 0; i < length; ++i) {
      before = mix64(before, i < shared ? 0 : 1 + random.below(3));
      columns.keys.push_back(block_key{before});
    }
    columns.arrivals.push_back(sim_time{static_cast<std::int64_t>(r + 1) * 1'000'000'000});
  }
  columns.starts.push_back(columns.keys.size());
  return columns;
}

/// Accesses to objects of which small numbers are popular; sizes 1 to `most_size` by object.
inline access_columns object_columns(std::uint64_t accesses, std::uint64_t objects,
                                     std::uint32_t most_size, std::uint64_t seed) {
  random_stream random{seed, "objects"};
  access_columns columns;
  for (std::uint64_t i = 0; i < accesses; ++i) {
    std::uint64_t key = random.below(random.below(objects) + 1);
    columns.starts.push_back(i);
    columns.keys.push_back(block_key{key});
    columns.arrivals.push_back(sim_time{static_cast<std::int64_t>(i) * 1'000'000});
    if (most_size > 1) {
      columns.sizes.push_back(static_cast<std::uint32_t>(1 + mix64(key) % most_size));
    }
  }
  columns.starts.push_back(accesses);
  return columns;
}

}  // namespace refrain::testing
