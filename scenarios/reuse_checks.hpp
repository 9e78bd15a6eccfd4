// Whether a workload and a contender can give a reuse policy what it needs. Where they cannot, the
// run stops with that reason; nothing is reused in another way instead.
#pragma once

#include "actors/plan.hpp"
#include "policies/reuse.hpp"
#include "scenarios/settings.hpp"
#include "scenarios/workload.hpp"

namespace refrain {

/// Throws input_error, naming the key, where the trace or another setting stands in the way.
void check_reuse(const scenario_settings& settings, const contender_plan& plan,
                 const trace_info& info, const reuse_needs& needs);

/// Throws input_error where the policy is about documents and no prompt holds any.
void check_documents(const scenario_settings& settings, const contender_plan& plan,
                     const workload_survey& counts, const reuse_needs& needs);

}  // namespace refrain
