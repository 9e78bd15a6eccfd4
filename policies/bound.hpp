// Bounds: what no policy can beat, computed from the whole trace. They are replayed like policies,
// by name, but see the future, so they are functions of all accesses and not eviction objects.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policies/registry.hpp"
#include "policies/replay.hpp"

namespace refrain {

/// A registered bound; null where it does not exist under a rule.
struct bound_entry {
  static constexpr std::string_view kind = "bound";

  policy_info info;
  replay_result (*replay_flat)(const access_columns&, std::int64_t capacity);
  replay_result (*replay_prefix)(const access_columns&, std::int64_t capacity);
};

/// Accesses with dense numbers for keys and the position of each access's next use, for bounds.
struct numbered_accesses {
  std::vector<std::uint32_t> numbers;  ///< per access: its key's number, 0 .. unique - 1
  /// Per access: the next access (flat) or the next request (prefix) that holds the key, or
  /// `never`.
  std::vector<std::uint64_t> next_use;
  std::uint32_t unique = 0;
};

/// Numbers the accesses; next uses are counted in accesses or, `by_request`, in requests.
numbered_accesses number_accesses(const access_columns& columns, bool by_request);

/// Adds the tokens of one hit access to the result, where they are known.
inline void count_hit(replay_result& result, const access_columns& columns, std::uint64_t access) {
  ++result.hits;
  if (!columns.tokens.empty()) {
    result.hit_tokens += columns.tokens[access];
  }
}

}  // namespace refrain
