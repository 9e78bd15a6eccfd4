// The columns of what a recorder writes: name, unit, meaning and where the value comes from, once
// each.
#pragma once

#include <vector>

#include "actors/messages.hpp"
#include "actors/plan.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// Which columns a `requests` table has beside those that all have.
struct request_columns {
  bool measured = false;  ///< times that the trace measured
  bool searched = false;  ///< what was retrieved
  bool seen = false;      ///< what an endless cache of chunks would have seen
  bool judged = false;    ///< whether text that stood in for other text was right
  bool updated = false;   ///< whether it used what was outdated
};

/// The empty `requests` table.
table requests_table(const request_columns& more);
/// Adds a finished request to a table made by requests_table.
void add_request(table& rows, const request_over& row, const request_columns& more);

/// The empty `executors` table: the time series.
table executors_table();
/// Adds a sample to it.
void add_sample(table& rows, const executor_sample& row);

/// The empty `iterations` table: those that were timed.
table iterations_table();
/// Adds one to it.
void add_iteration(table& rows, const iteration_timed& row);
/// The empty `updates` table: what became of a corpus that changed.
table updates_table();
/// Adds an update to it.
void add_update(table& rows, const corpus_change& change, const update_stream& updates);

/// What each executor's GPU memory did in all, from its last sample, and each instance of a tier
/// below.
table tiers_table(const contender_plan& plan, const std::vector<executor_sample>& last,
                  const std::vector<tier_summary>& below);

}  // namespace refrain
