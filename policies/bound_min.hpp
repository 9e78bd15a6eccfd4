// The loop behind the bounds min and min_bypass.
#pragma once

#include "policies/bound.hpp"

namespace refrain {

/// Flat replay that evicts the farthest next access; with `bypass` the newcomer itself may be the
/// one.
replay_result replay_min(const access_columns& columns, std::int64_t capacity, bool bypass);

/// Prefix replay that drops the farthest next use, ties deepest first. Pinned: blocks outside the
/// request go before it is inserted, and a request longer than the capacity keeps its first blocks.
/// Bypass: everything is inserted, then the farthest go until the capacity remains.
replay_result replay_belady(const access_columns& columns, std::int64_t capacity, bool bypass);

}  // namespace refrain
