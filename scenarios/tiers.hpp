// The memories below the GPU as a scenario names them.
#pragma once

#include <vector>

#include "actors/plan.hpp"
#include "policies/eviction.hpp"
#include "scenarios/settings.hpp"

namespace refrain {

/// The tiers whose capacity is given, nearest first; none where GPU memory is unbounded (`above`),
/// since nothing would ever come down to them. Throws input_error for a setting of a tier without
/// capacity and for an eviction policy that no tier can serve.
std::vector<tier_plan> tiers_of(const scenario_settings& settings, const eviction_needs& above);

}  // namespace refrain
