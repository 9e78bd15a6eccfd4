// What a summary needs of the `requests` table, gathered piece by piece so that the table never has
// to be in memory as a whole: exact sums of its counts, the distributions of its times, and
// simulated against measured.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/distribution_builder.hpp"
#include "analysis/statistics.hpp"
#include "analysis/summary.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// Means of simulated and measured times, over requests that have both.
class measured_pairs {
 public:
  void add(double simulated, double measured);
  measured_row row(std::string name) const;

 private:
  exact_adder simulated_;
  exact_adder measured_;
  exact_adder errors_;
  std::int64_t count_ = 0;
};

/// The requests of one contender, those that were refused counted apart.
class request_totals {
 public:
  /// Takes in the next rows, which have the same columns every time. Throws run_error naming a
  /// column that is missing.
  void add(const table& rows);

  std::int64_t done() const { return done_; }
  std::int64_t refused() const { return refused_; }
  /// Whether the table has this count.
  bool has(std::string_view name) const { return sums_.contains(name); }
  /// The sum of a count over served requests. Throws run_error where there is no such column.
  std::int64_t sum(std::string_view name) const;
  double last_finish() const { return last_finish_; }

  /// All rows were taken in: what was kept of each is given up.
  void finish();
  /// Distributions, once finished.
  const distribution& ttft() const { return ttft_.whole; }
  const distribution& tpot() const { return tpot_.whole; }
  const distribution& e2e() const { return e2e_.whole; }
  const distribution& queue() const { return queue_.whole; }

  /// One row for each time that was measured.
  std::vector<measured_row> measured() const;

 private:
  void add_counts(const table& rows, const std::vector<std::int64_t>& status);
  void add_times(const table& rows, const std::vector<std::int64_t>& status);
  void add_measured(const table& rows, const std::vector<std::int64_t>& status);

  std::int64_t done_ = 0;
  std::int64_t refused_ = 0;
  std::map<std::string, std::int64_t, std::less<>> sums_;
  struct times {
    distribution_builder values;
    distribution whole;
  };
  times ttft_, tpot_, e2e_, queue_;
  double last_finish_ = 0;
  bool has_measured_ttft_ = false, has_measured_e2e_ = false;
  measured_pairs measured_ttft_, measured_tpot_, measured_e2e_;
};

/// The same summaries as summarise_run(results), of a run whose contenders' requests were gathered
/// as they were written, and finished, so that they need not be read again.
std::vector<contender_summary> summarise_run(const results_reader& results,
                                             std::span<const request_totals> gathered);

}  // namespace refrain
