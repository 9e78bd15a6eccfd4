// What policies want to be told of requests, a trace must say: a run whose trace does not stops
// with that reason before virtual time starts.
#pragma once

#include <string_view>

#include "actors/plan.hpp"
#include "policies/eviction.hpp"
#include "scenarios/settings.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Throws input_error at `key` where the policy needs sessions and the trace has none.
void check_sessions(const scenario_settings& settings, const trace_info& info, std::string_view key,
                    const policy_choice& policy, bool needed);

/// Throws input_error where an eviction policy needs sessions, hints, steps or what runs do not do.
void check_told(const scenario_settings& settings, const trace_info& info,
                const policy_choice& policy, const eviction_needs& needs);

}  // namespace refrain
