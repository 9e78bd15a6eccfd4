// The table [workload.generator] of a scenario as the settings of the generator.
#pragma once

#include <string_view>

#include "scenarios/settings.hpp"
#include "traces/adapt.hpp"

namespace refrain {

/// What every key of the generator starts with.
inline constexpr std::string_view generator_table = "workload.generator.";

/// A generator with these settings, each time from its first request. Throws input_error for a
/// replayed trace that is not named or of unknown format.
source_opener open_generator(const scenario_settings& settings);

/// An error of the generator, which names its settings "workload.KEY", under the scenario's key.
input_error of_generator(const input_error& error);

}  // namespace refrain
