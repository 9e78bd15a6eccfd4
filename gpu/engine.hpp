// What every compute engine offers the executor: the time of one iteration of a batch. An engine
// that simulates answers from a formula, one that computes answers from a clock. A decode-only
// iteration is a straight line in the keys read, so a window of them can be advanced without asking
// the engine again; stepping and windows evaluate this one expression and agree to the nanosecond.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/block_pool.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Part of a prompt to compute in this iteration: new tokens over those already in the cache.
struct prefill_chunk {
  token_count new_tokens;     ///< at least 1
  token_count cached_tokens;  ///< keys before the first new token
  // Where part of the KV between the new tokens was computed elsewhere, cached_tokens is what makes
  // the new ones see as many keys as they do, and:
  token_count other_keys{};          ///< keys that are read besides these
  token_count rotated_tokens{};      ///< whose keys are rotated to their place
  token_count first_layer_tokens{};  ///< that the first layer computes besides the new ones
};

/// New tokens of one sequence, for an engine that computes them.
struct sequence_work {
  std::span<const token_id> tokens;  ///< the new ones
  std::int64_t cached_tokens = 0;    ///< keys before the first of them
  std::vector<block_id> blocks;      ///< of the sequence, from its first token on
  bool emits = false;                ///< what follows the last one is wanted
};

/// One iteration's work. Context is the number of keys of a decoding sequence, the token being
/// computed included.
struct batch {
  std::vector<prefill_chunk> prefill;
  std::int64_t decodes = 0;                 ///< decoding sequences, one new token each
  std::int64_t decode_context = 0;          ///< sum of their contexts
  std::int64_t longest_decode_context = 0;  ///< largest of them; used only beside prefill
  std::vector<sequence_work> sequences{};   ///< all of it by sequence, where tokens are computed
};

/// Time of a decode-only iteration of a fixed number of sequences: a line in the context sum.
struct decode_line {
  double base_s = 0;
  double per_key_s = 0;

  /// The time at this context sum, rounded to the nearest nanosecond.
  sim_time at(std::int64_t context_sum) const {
    return sim_time{std::llrint((base_s + per_key_s * static_cast<double>(context_sum)) * 1e9)};
  }
};

/// Where tokens are computed.
class engine {
 public:
  virtual ~engine() = default;

  /// Time of one iteration, host time included. The batch is not empty; without prefill it is
  /// `decode(decodes).at(decode_context)`.
  virtual sim_time iteration(const batch& work) = 0;
  /// The line of decode-only iterations of `sequences` (at least 1); only of an engine that
  /// has_lines().
  virtual decode_line decode(std::int64_t sequences) = 0;

  /// Whether times are known beforehand; else each iteration is asked for, when it begins.
  virtual bool has_lines() const { return true; }
  /// Whether batches must say which tokens are computed.
  virtual bool computes_tokens() const { return false; }
  /// What each sequence that emits goes on with, after an iteration that computed tokens.
  virtual std::span<const token_id> emitted() const { return {}; }
};

}  // namespace refrain
