// What a trace holds, in figures: times, lengths, sessions, and what a cache without limit would
// find of it, serving one request after the other in trace order. Several definitions of the hit
// rate stand side by side, since they differ by up to a point and papers rarely say which they
// mean. Memory grows with distinct blocks and distinct lengths, not with rows.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "traces/chunks.hpp"
#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Exact quantiles of whole numbers: how often each value came.
class value_counts {
 public:
  void add(std::int64_t value) {
    ++counts_[value];
    ++count_;
    sum_ += static_cast<double>(value);
  }

  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  /// 0 where there are no values.
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// Values at increasing shares (0 to 1), nearest rank: the smallest value with at least that
  /// share of all at or below it. Zeros where there are no values.
  std::vector<std::int64_t> at(const std::vector<double>& shares) const;

 private:
  std::unordered_map<std::int64_t, std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// Counts of an endless cache over the prompts of a trace; a request's blocks are seen only by
/// later requests.
struct endless_counts {
  token_count block_tokens;          ///< the blocks that prompts were cut into
  std::uint64_t accesses = 0;        ///< blocks of all prompts
  std::uint64_t unique = 0;          ///< different ones
  std::uint64_t single_use = 0;      ///< used by one access only
  std::uint64_t most_used = 0;       ///< accesses of the most used block
  std::uint64_t block_hits = 0;      ///< seen before, wherever they stand in the prompt
  std::uint64_t prefix_hits = 0;     ///< seen before, and so is every block before them
  std::int64_t input_tokens = 0;     ///< of all prompts
  std::int64_t hit_tokens = 0;       ///< tokens of prefix hits, a short last block's too
  std::int64_t full_hit_tokens = 0;  ///< the same, completely filled blocks only
  double ratio_sum = 0;              ///< of the share of prefix hits in each request's blocks
  std::uint64_t requests = 0;        ///< with blocks
  std::uint64_t any_hit = 0;         ///< requests with at least one prefix hit
  std::uint64_t wholly_hit = 0;      ///< requests all of whose blocks hit
};

/// The same for a trace of sized objects.
struct object_counts {
  std::uint64_t accesses = 0;
  std::uint64_t objects = 0;
  std::uint64_t hits = 0;        ///< accesses of an object seen before
  double accessed_size = 0;      ///< sum of sizes over accesses
  double hit_size = 0;           ///< sum of sizes over hits
  double unique_size = 0;        ///< sum of sizes over objects, as first seen
  std::uint64_t single_use = 0;  ///< objects accessed once
  std::uint64_t most_used = 0;   ///< accesses of the most used object
  value_counts sizes;            ///< of accesses
};

/// A trace in figures.
struct trace_description {
  trace_info info;
  row_counts counts;
  std::uint64_t requests = 0;
  sim_time first{0}, last{0};        ///< arrivals; later turns of a session not before its start
  std::uint64_t distinct_times = 0;  ///< of arrivals that go forward
  value_counts input, output;        ///< tokens
  std::uint64_t sessions = 0;        ///< 0 where the trace has none
  value_counts turns;                ///< of each session
  value_counts gaps_ms;              ///< think times of later turns, whole milliseconds
  endless_counts endless;            ///< accesses = 0 where nothing names content
  chunk_description chunks;          ///< traces that give prompts by content only
  object_counts objects;             ///< traces of sized objects only
};

/// Block size for prompts that are given by segments, as vLLM cuts them.
inline constexpr token_count standard_block_tokens_of_segments{16};

/// Reads a source to its end. Traces with ids use their own blocks; prompts given by content are
/// cut into blocks of `block_tokens`. Throws what the source throws; `into` then holds what was
/// read.
void describe_trace(source& rows, trace_description& into,
                    token_count block_tokens = standard_block_tokens_of_segments);

}  // namespace refrain
