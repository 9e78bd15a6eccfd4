// A fitted workload as text: what `refrain traces --fit` writes.
#pragma once

#include <string>

#include "traces/fit.hpp"

namespace refrain {

/// The tables [workload], [workload.generator] and [kv] of a scenario, with comments that say how
/// close they come. `trace` names what was fitted.
std::string fitted_scenario(const fitted_workload& fitted, const std::string& trace);

}  // namespace refrain
