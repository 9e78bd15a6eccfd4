// A run's figures for people and programs: what `run` prints at its end and `show` prints again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/results_reader.hpp"
#include "analysis/summary.hpp"
#include "scenarios/json.hpp"

namespace refrain {

/// Everything that is reported of a run.
struct run_report {
  run_description run;
  std::vector<contender_summary> contenders;
  table comparison;
  table bounds;
  std::vector<std::string> warnings;
  std::string result;  ///< the path under which `show` finds it
  bool complete = true;
};

/// The report of a run that is on disk, finished or not.
run_report read_report(const results_reader& results);

/// DESIGN.md's document of run --json, with the file's path, whether the run is complete, the
/// bounds, and simulated against measured times where there are any.
json report_document(const run_report& report);

/// The summary table, bounds and the file's path to stdout, warnings to stderr.
void print_report(const run_report& report);

}  // namespace refrain
