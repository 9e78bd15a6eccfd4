// What a reader of a run's figures must be warned of: a comparison that the run cannot show, and
// contenders that beat the endless cache for a reason outside their policy.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "actors/plan.hpp"
#include "analysis/results_reader.hpp"

namespace refrain {

/// Warnings about a run whose contenders are all done, from their tables. `results` and
/// `contenders` are in the same order.
std::vector<std::string> check_run(const results_reader& results,
                                   std::span<const contender_plan> contenders);

}  // namespace refrain
