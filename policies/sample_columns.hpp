// Small traces for the conformance kit and for tests of replay, drawn from a seed: branching
// chains, and objects of which few are popular. What a policy may need beside keys (sessions,
// categories, hints, agents) is made up by `told_chain_columns`.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/replay.hpp"
#include "traces/random.hpp"

namespace refrain {

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

/// chain_columns with everything told that a policy may ask for.
inline access_columns told_chain_columns(std::uint64_t requests, std::uint64_t seed) {
  access_columns columns = chain_columns(requests, seed);
  for (std::uint64_t r = 0; r < requests; ++r) {
    columns.sessions.push_back(session_id{columns.keys[columns.starts[r]].get() % 17});
    columns.categories.push_back(static_cast<std::uint32_t>(r % 3));
    columns.hints.push_back({static_cast<std::int32_t>(r % 4 * 30), sim_time{5'000'000'000}});
    columns.agents.push_back(static_cast<std::uint32_t>(r % 4));
    columns.upcoming.push_back({{static_cast<std::uint32_t>((r + 1) % 4), 1}});
    columns.input_tokens.push_back(columns.block_tokens);
    columns.output_tokens.push_back(token_count{16});
  }
  return columns;
}

}  // namespace refrain
