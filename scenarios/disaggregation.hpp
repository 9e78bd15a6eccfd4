// Reads the `disaggregation` table: prefill and decode on executors of their own.
#pragma once

#include "actors/plan.hpp"
#include "scenarios/settings.hpp"

namespace refrain {

/// `executors` of `ranks` GPUs each. Throws input_error where the GPUs cannot be split so, or where
/// a key is set without disaggregation.prefill_gpus.
disaggregation_plan disaggregation_of(const scenario_settings& settings, std::int64_t executors,
                                      std::int64_t ranks);

}  // namespace refrain
