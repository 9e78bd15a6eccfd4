// The figures of a run: per contender the metrics of `run --json`, the comparison of every
// contender with the first, and, for runs that replay measured requests, simulated against
// measured. Everything comes from the `requests` table, exact counts first. Intervals and verdicts
// wait for the paired statistics: until then `low` and `high` are nan and nothing is called better.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/results_reader.hpp"
#include "analysis/sample_summary.hpp"
#include "analysis/statistics.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// One figure of one contender.
struct metric {
  std::string name;
  /// "s", "tokens", "tokens/s", "requests", "blocks", "bytes" or "1".
  std::string unit;
  /// The figure as a double; a distribution's mean; nan where it is not known.
  double value = 0;
  /// The figure as a whole number, where it is a count.
  std::optional<std::int64_t> exact;
  std::optional<refrain::distribution> distribution;
};

/// Simulated against measured, over the requests that have both and where the measured is positive.
struct measured_row {
  std::string metric;
  double simulated_mean;
  double measured_mean;
  /// simulated_mean / measured_mean - 1.
  double relative_error;
  /// Mean of |simulated - measured| / measured over requests.
  double mean_absolute_relative_error;
  std::int64_t count;
};

/// All figures of one contender, metrics in the order of DESIGN.md.
struct contender_summary {
  std::string name;
  std::vector<metric> metrics;
  /// Empty unless the run has measured times.
  std::vector<measured_row> measured;
  /// Where there was one.
  std::optional<sample_summary> sample{};

  /// The metric of this name; a programmer error when there is none.
  const metric& at(std::string_view metric_name) const;
};

/// The columns of `requests` that a summary reads.
std::span<const std::string_view> summary_columns();

/// The figures of one contender from its `requests` table and, for what no request knows, its
/// `totals` (columns `name` and `value`); nullptr where there are none yet. Throws run_error naming
/// a column that is missing.
contender_summary summarise_requests(std::string name, const table& requests, const table* totals);

/// An empty `totals` table.
table totals_table();

/// The figures of every contender of a run, finished or not, in memory that does not grow with the
/// rows; contenders that have not started are left out.
std::vector<contender_summary> summarise_run(const results_reader& results);

/// The run's warnings, before them, where it is so, that the run is incomplete.
std::vector<std::string> summary_warnings(const results_reader& results);

/// The table `comparison`: one row per metric, statistic and contender after the first.
table compare(std::span<const contender_summary> contenders);

/// Appends the summary for people to `out`: at most 120 columns, contenders as rows, under each but
/// the first its difference to the first, then simulated against measured, then the warnings.
void print_summary(std::string& out, std::span<const contender_summary> contenders,
                   std::span<const std::string> warnings);

}  // namespace refrain
