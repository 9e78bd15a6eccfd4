// From a scenario file and a command line to everything that a run needs, checked: what is wrong
// with the input is found here, before virtual time starts and before a result file exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/plan.hpp"
#include "analysis/run_description.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// What the command line asks for.
struct run_request {
  std::string scenario;              ///< path of the file
  std::vector<std::string> sets;     ///< "KEY=VALUE", in order
  std::vector<std::string> only;     ///< names of contenders; empty = all
  std::optional<std::int64_t> seed;  ///< instead of the scenario's
  std::vector<std::string> plugins;  ///< files, beside the scenario's
};

/// A run, ready to start.
struct run_plan {
  workload_plan workload;
  std::vector<contender_plan> contenders;
  run_description description;
  table bounds;  ///< what an endless cache gives, one row per way to cut prompts into blocks
  std::vector<std::string> warnings;
};

/// Loads, resolves and checks. Throws input_error, one line that says where.
run_plan load_run(const run_request& request);

}  // namespace refrain
