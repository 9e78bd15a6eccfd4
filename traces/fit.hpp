// Settings of the generator that resemble a trace. Arrivals of sessions: the process whose gaps
// have the trace's moments. Lengths and think times: quantile tables. Prefix structure: a common
// head (blocks that many requests begin with), then sessions, each turn of which keeps a share of
// the turn before. A trace without sessions has them inferred from its prefix chains: a request
// whose leading run of known blocks goes beyond the head continues the session that last used the
// end of that run. Left out: reuse between sessions beyond the head, reuse outside the prefix
// (documents), correlations between lengths, times of day but for their amplitude.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/adapt.hpp"
#include "traces/describe.hpp"
#include "traces/generator.hpp"

namespace refrain {

/// What was measured in a trace, and the settings found.
struct fitted_workload {
  generator_settings settings;
  token_count block_tokens;  ///< blocks that hits were counted in
  std::uint64_t requests = 0;
  std::uint64_t sessions = 0;   ///< given or inferred
  std::uint64_t followups = 0;  ///< requests that continue a session
  value_counts gaps_ms;         ///< of the follow-ups: time since the end of the kept part was used
  double hit_rate = 0;          ///< of the trace: endless cache, tokens in full blocks
  double generated_hit_rate = 0;  ///< of the settings, in a long workload
  double gap_variation = 0;       ///< coefficient of variation of the gaps between session starts
  std::string arrivals_reason;    ///< why this process, for people
};

/// Fits. `open` is called several times; `seed` draws the arrivals inside the ticks of a coarse
/// clock and the workloads that the hit rate is calibrated on (single_turn_share is the one setting
/// that is moved for it). Throws input_error for a trace without token lengths and what the source
/// throws.
fitted_workload fit_trace(const source_opener& open, std::uint64_t seed = 1);

/// The arrival process whose gaps resemble those of `starts` (seconds, rising; changed in place
/// where the clock is coarse): sets arrivals and sessions_per_second.
void fit_arrivals(std::vector<double>& starts, std::uint64_t seed, fitted_workload& into);

}  // namespace refrain
