// The Zipf trace that the truth counts and the benchmarks use: a counter-based generator, so the
// same accesses come out everywhere (access i has rank upper_bound(cdf, u * total), u from
// splitmix64; object ids are splitmix64(rank + 1)). One access a
// millisecond.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/replay.hpp"
#include "traces/random.hpp"

namespace refrain::testing {

/// Flat accesses to `objects` objects of Zipf exponent 1; sizes 1, or 1 to 64 when `mixed`.
inline access_columns zipf_columns(std::uint64_t accesses, std::uint64_t objects, bool mixed,
                                   std::uint64_t seed = 42) {
  std::vector<double> cdf(objects);
  double total = 0;
  for (std::uint64_t k = 0; k < objects; ++k) {
    cdf[k] = total += 1.0 / static_cast<double>(k + 1);
  }
  access_columns columns;
  columns.keys.reserve(accesses);
  for (std::uint64_t i = 0; i < accesses; ++i) {
    std::uint64_t draw = mix64(seed + (i + 1) * 0x9E3779B97F4A7C15u);
    double u = static_cast<double>(draw >> 11) * 0x1p-53;
    auto rank = std::upper_bound(cdf.begin(), cdf.end(), u * total) - cdf.begin();
    std::uint64_t id = mix64(std::min(static_cast<std::uint64_t>(rank), objects - 1) + 1);
    columns.keys.push_back(block_key{id});
    columns.starts.push_back(i);
    columns.arrivals.push_back(sim_time{static_cast<std::int64_t>(i) * 1'000'000});
    if (mixed) {
      columns.sizes.push_back(static_cast<std::uint32_t>(1 + mix64(id) % 64));
    }
  }
  columns.starts.push_back(accesses);
  return columns;
}

}  // namespace refrain::testing
