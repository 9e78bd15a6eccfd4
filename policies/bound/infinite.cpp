// The endless cache: every access but the first of its key hits; under the prefix rule only within
// the leading run.
#include <vector>

#include "policies/bound.hpp"

namespace refrain {
namespace {

replay_result flat(const access_columns& columns, std::int64_t) {
  replay_result result;
  numbered_accesses all = number_accesses(columns, false);
  std::vector<char> seen(all.unique);
  for (std::uint64_t i = 0; i < columns.keys.size(); ++i) {
    if (seen[all.numbers[i]]) {
      count_hit(result, columns, i);
    } else {
      result.missed_size += columns.sizes.empty() ? 1 : columns.sizes[i];
    }
    seen[all.numbers[i]] = true;
  }
  return result;
}

replay_result prefix(const access_columns& columns, std::int64_t) {
  replay_result result;
  numbered_accesses all = number_accesses(columns, true);
  std::vector<char> seen(all.unique);
  for (std::uint64_t r = 0; r < columns.requests(); ++r) {
    std::uint64_t last = columns.starts[r + 1];
    std::uint64_t i = columns.starts[r];
    for (; i < last && seen[all.numbers[i]]; ++i) {
      count_hit(result, columns, i);
    }
    result.missed_size += last - i;
    for (; i < last; ++i) {
      seen[all.numbers[i]] = true;
    }
  }
  return result;
}

const register_policy<bound_entry> registration{
    {policy_info{.name = "infinite",
                 .summary = "the endless cache: nothing is ever evicted",
                 .source = "the endless cache of trace studies",
                 .truth = {{"conversation", "prefix", 1, 288500 - 105710},
                           {"synthetic", "prefix", 1, 121877 - 77953}}},
     flat, prefix}};

}  // namespace
}  // namespace refrain
