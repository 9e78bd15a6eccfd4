// The same requests by formula and computed for real: how far apart their times are, beside how far
// two real runs are from each other.
#pragma once

#include <string>
#include <vector>

#include "analysis/results_reader.hpp"

namespace refrain {

/// One metric of one contender: what the first real run had, and where the formula and the second
/// real run are against it, relative to it.
struct validation_row {
  std::string contender;
  std::string metric;     ///< ttft_s, tpot_s or e2e_s
  std::string statistic;  ///< mean, p50, p99; request: mean of |difference| over requests
  double real = 0;        ///< seconds; nan for request
  double formula = 0;     ///< likewise
  double error = 0;       ///< formula / real - 1; for request the mean of its amount
  double noise = 0;       ///< the same of the second real run
  double bound = 0;       ///< what |error| should be within; nan where nothing is asked

  bool is_within() const;
};

/// All rows, contender by contender, of three finished runs of one scenario. p50 should be within
/// 10 %, p99 within 15 %, or within twice the noise where that is more, for TTFT and E2E.
std::vector<validation_row> compare_runs(const results_reader& real, const results_reader& again,
                                         const results_reader& formula);

}  // namespace refrain
