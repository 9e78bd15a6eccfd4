// What a scenario may change about a trace on its way in, in this order: the number of rows, the
// order of a prompt's parts, the output lengths, arrivals that were rounded to one instant spread
// over the interval they came from, and the speed of time. Each step is a source around a source;
// steps not asked for are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// The parts of a prompt that have a place in its layout. History is all that earlier turns left.
enum class prompt_part : std::uint8_t { system, history, documents, question };

/// An order of all four; empty: the trace's own.
using prompt_order = std::vector<prompt_part>;

/// Reads "system, history, documents, question". Throws input_error naming "workload.layout" unless
/// each part stands there once.
prompt_order parse_layout(std::string_view text);

/// The changes; the defaults change nothing.
struct adaptation {
  std::uint64_t limit = 0;  ///< rows; 0 = all. The last row of a session within it is its last turn
  token_count
      output_tokens{};  ///< of every request; 0 = the trace's own. Measured times are dropped
  /// k rows of one timestamp get k sorted uniform draws in [t, t + spread), in row order; 0 = no.
  /// Later turns that wait for a think time keep their time: it is only a bound.
  sim_time spread{0};
  double speed = 1;        ///< arrivals and think times are divided by it; above 0
  std::uint64_t seed = 0;  ///< of the run; spread draws from its stream "arrival spread"
  prompt_order layout{};   ///< of prompts given by segments; within a part the order stays
};

/// Opens one and the same stream of requests, each time from its first row.
using source_opener = std::function<std::unique_ptr<source>()>;

/// The adapted source. `open` is called once, and once more where `limit` cuts a trace with
/// sessions (then the first `limit` rows are read ahead to find each session's last turn, which
/// costs memory for one count a session). Throws input_error naming "workload.speed" or
/// "workload.spread" for values out of range, and what the source throws.
std::unique_ptr<source> adapt(const source_opener& open, const adaptation& changes);

}  // namespace refrain
