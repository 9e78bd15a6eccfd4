// The workload of a scenario: which source it opens, and the first pass over it before virtual time
// starts. The pass finds what a run must know beforehand (how many requests and keys, the longest
// request, who will use a block next) and what an endless cache would give.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/future.hpp"
#include "scenarios/settings.hpp"
#include "traces/corpus/corpus.hpp"
#include "traces/corpus/living_corpus.hpp"
#include "traces/keys.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A validated workload.
struct scanned_workload {
  std::function<std::unique_ptr<source>()> open;  ///< adapted as the scenario says
  trace_info info;
  std::string sha256;  ///< of the trace file or the corpus; empty for the generator
  std::shared_ptr<const corpus> documents;  ///< where questions are asked over a corpus
  update_stream updates;                    ///< of it; without a history it stays as it is
  std::vector<std::string> warnings;
};

/// Whether this workload.format reads the table that the key is in.
bool is_read_by_format(std::string_view key, std::string_view format);

/// Reads and hashes the whole trace file. Throws input_error: for a bad row its file and line, for
/// a bad setting its place; also for a trace that gives no lengths. `file` is the scenario's.
scanned_workload scan_workload(const scenario_settings& settings, const std::string& file);

/// What a pass over the workload counts under one key scheme. The hits are those of an endless
/// cache that serves one request after the other; a prompt's last token is always computed.
struct workload_survey {
  std::uint64_t requests = 0;
  std::uint64_t sessions = 0;       ///< equals requests where the trace has none
  std::uint64_t keys = 0;           ///< different ones; where not `counted`, no fewer than those
  bool counted = true;              ///< few enough different blocks to tell them apart in memory
  std::uint64_t named_blocks = 0;   ///< with keys, however often
  std::uint64_t blocks = 0;         ///< looked up by prompts, where `counted`
  std::uint64_t hit_blocks = 0;     ///< of these
  std::uint64_t chunks = 0;         ///< in prompts: of the scheme's kinds, or documents
  std::int64_t longest_blocks = 0;  ///< that the longest request fills
  std::int64_t input_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::shared_ptr<const future> ahead;  ///< where asked for
};

/// Different blocks that a survey tells apart; a workload with more is not counted, so memory does
/// not grow with it. A set of 2^22 places takes them.
inline constexpr std::size_t survey_keys_max = 3'600'000;

/// Makes the pass.
workload_survey survey_workload(source& rows, const key_scheme& scheme, bool with_future);

}  // namespace refrain
