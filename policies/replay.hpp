// Replay: a trace's accesses against one policy and capacity, without time. Hit counts here are
// exact and equal other programs' (see README.md); what a full run gives differs from them by time,
// outputs and concurrency only.
//
// Two rules. flat: every access counts by itself. prefix: the hits of a request are its longest
// resident leading run of blocks, counted before anything is touched; then each of its blocks is
// one access, deepest first (head first where the policy asks for it), each evicting before it
// inserts, nothing protected. A policy of leaf scope instead pins the request's blocks, inserts
// parents before children, and stores no more of a request than fits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/eviction.hpp"
#include "policies/recompute.hpp"
#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// How accesses are counted.
enum class replay_rule : std::uint8_t { flat, prefix };

/// The accesses of a trace as columns.
struct access_columns {
  std::vector<block_key> keys;
  std::vector<std::uint32_t> sizes;   ///< one per access; empty where all are 1
  std::vector<std::uint64_t> starts;  ///< first access of each request, then the number of accesses
  std::vector<std::uint32_t> tokens;  ///< tokens of each access's block; empty where unknown
  std::vector<session_id> sessions;   ///< one per request; empty where they cannot be told
  std::vector<token_count> input_tokens;   ///< one per request; empty where unknown
  std::vector<token_count> output_tokens;  ///< likewise
  std::vector<sim_time> arrivals;          ///< one per request; empty where they cannot be told
  std::vector<std::uint32_t> categories;   ///< one per request; empty where they cannot be told
  std::vector<retention_hint> hints;       ///< likewise
  std::vector<std::uint32_t> agents;       ///< likewise
  std::vector<std::vector<agent_steps>> upcoming;  ///< likewise, with `agents`
  token_count block_tokens;
  bool has_chains = false;
  recompute_model recompute;  ///< what policies that weigh costs are told

  std::uint64_t requests() const { return starts.empty() ? 0 : starts.size() - 1; }
};

/// Counts of one replay.
struct replay_result {
  std::uint64_t requests = 0;
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t missed_size = 0;   ///< sum of the sizes of missed accesses
  std::uint64_t hit_tokens = 0;    ///< tokens of hit blocks, a short last block by its own
  std::uint64_t total_tokens = 0;  ///< input tokens; 0 where lengths are unknown
  double seconds = 0;              ///< CPU time of the loop from keys, map included
  std::uint64_t peak_bytes = 0;    ///< heap of cache and policy

  std::uint64_t misses() const { return accesses - hits; }
};

/// Reads a whole trace into columns.
access_columns read_columns(source& trace);

/// The rule a trace is replayed under unless told otherwise.
replay_rule standard_rule(const access_columns& columns);

/// Unique keys of the trace.
std::uint64_t unique_keys(const access_columns& columns);

/// What may enter the cache, by name.
struct admission_choice {
  std::string_view name = "always";
  given_parameters given = {};
};

/// Replays one policy (an eviction policy, or a bound of policies/bound/) at one capacity, in units
/// of access size. Throws input_error{where, ...} for an unknown policy, a bad parameter or a trace
/// that lacks what the policy needs.
replay_result replay(const access_columns& columns, std::string_view policy,
                     const given_parameters& given, std::int64_t capacity, replay_rule rule,
                     const std::string& where, const admission_choice& admission = {});

/// The bound that no policy beats under a rule on this trace: its name in policies/bound/.
std::string_view bound_of(const access_columns& columns, replay_rule rule);

/// CPU seconds of this thread so far.
double thread_seconds();
/// Heap bytes in use by the process.
std::uint64_t heap_bytes();

}  // namespace refrain
