// The first pass over a trace, before virtual time starts: is every row good, how many are there,
// and which file was it. Totals say what a run will see, so they stop at its limit; validation and
// the hash do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// What a trace file holds. The totals cover the first `limit` kept rows where a limit is given.
struct trace_summary {
  std::string sha256;  ///< of the file as stored
  trace_info info;
  row_counts counts;  ///< of the whole file, whatever the limit
  std::uint64_t requests = 0;
  std::uint64_t sessions = 0;  ///< equals requests where the trace has none
  std::uint64_t blocks = 0;    ///< block accesses by the trace's own ids
  token_count input_tokens;
  token_count output_tokens;
  sim_time last_arrival{0};
  token_count longest_prompt_tokens;
  std::uint64_t longest_prompt_blocks = 0;
};

/// What identifies the trace at `path`: the SHA-256 of its file as stored; of several files, the
/// SHA-256 of the lines "SHA-256  NAME" of each in the format's order, as sha256sum prints them.
std::string sha256_of_trace(std::string_view format, const std::string& path);

/// Reads the whole file. Throws input_error at the first bad row, or, with options.drop_bad_rows,
/// tells options.on_bad_row of each and goes on (so a caller can list them all; the error that no
/// row is good comes after the last of them). limit 0 = all rows.
trace_summary scan_trace(std::string_view format, const source_options& options,
                         std::uint64_t limit = 0);

}  // namespace refrain
