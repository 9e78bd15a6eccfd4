// Runs the contenders of a plan on several threads. They share nothing, so their results do not
// depend on how many threads there are.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/request_totals.hpp"
#include "analysis/results_writer.hpp"
#include "scenarios/loader.hpp"

namespace refrain {

/// Runs all contenders on up to `jobs` threads (0: one per core), with a progress line where stderr
/// is a terminal. When one fails the others are stopped. Throws the first failure in scenario
/// order, or `interrupted` where stop_on_signal was asked to. Returns what a summary needs of each
/// one's requests.
std::vector<request_totals> run_contenders(const run_plan& plan, results_writer& results,
                                           std::size_t jobs);

}  // namespace refrain
