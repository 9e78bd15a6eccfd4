// Where a prompt's KV comes from behind its leading run: chunks whose KV was computed behind other
// text, each taken in part or whole, with some of its tokens computed again. What is between them
// is computed. All counts here are of tokens and exact; places of recomputed tokens are a pattern.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/engine.hpp"
#include "policies/reuse.hpp"
#include "traces/integers.hpp"
#include "traces/texts.hpp"

namespace refrain {

/// A run of a prompt's tokens whose KV is taken from elsewhere.
struct reused_span {
  std::uint32_t first_block = 0;
  std::uint32_t end_block = 0;
  token_count begin;
  token_count end;
  token_count recomputed;  ///< of its tokens, computed all the same
  blend_placement placement = blend_placement::deviation;
  reuse_label label = reuse_label::blended;
  bool stale = false;  ///< KV of an outdated version
  stand_in truth = stand_in::unjudged;
  std::int32_t donor_key = -1;  ///< of its first block in prompt_layout::donor_keys; -1: its own

  /// Tokens that need not be computed.
  token_count saved() const { return end - begin - recomputed; }
  /// How many of its tokens before this place of the prompt are computed again.
  token_count recomputed_before(token_count place) const;
};

/// Spans of one prompt, in order and apart.
using reused_spans = std::vector<reused_span>;

/// Tokens from `from` to `to` that are computed.
token_count work_between(const reused_spans& spans, token_count from, token_count to);

/// How far towards `goal` a computation from `from` comes with at most `budget` tokens computed.
token_count reach(const reused_spans& spans, token_count from, token_count goal,
                  std::int64_t budget);

/// The computation from `from` to `to` as an engine wants it: rotated keys and looked-at tokens
/// included.
prefill_chunk chunk_of(const reused_spans& spans, token_count from, token_count to);

}  // namespace refrain
