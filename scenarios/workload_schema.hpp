// The part of the schema that says what is asked: [workload], [corpus] and [knowledge].
#pragma once

#include <vector>

#include "scenarios/schema.hpp"

namespace refrain {

/// Most tokens of one thing, and most things, that a scenario may ask for.
inline constexpr double tokens_max = 1e6;
inline constexpr double count_max = 4e9;

std::vector<setting_rule> workload_rules();

}  // namespace refrain
