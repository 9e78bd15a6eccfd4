// The keys under which a request's KV blocks are found. Where a trace names its blocks, its ids are
// the keys, or each is cut into sub-blocks; where it names content, keys chain over the prompt and
// on into the answer, so that the next turn finds both; where it gives lengths only, nothing is
// shared. Keys are 64 bits: among n distinct blocks two collide with odds of about n^2 / 2^65 (one
// in 37,000 at 2^25). Chains of chosen content could collide on purpose; stored KV is guarded
// apart.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/integers.hpp"
#include "traces/request.hpp"

namespace refrain {

/// How prompts are cut into blocks.
struct key_scheme {
  token_count block_tokens;        ///< tokens of a KV block
  token_count trace_block_tokens;  ///< tokens of a trace's id (trace_info::block_tokens); 0 = none
  bool full_blocks_only = false;   ///< a trace's short last block is not shared

  /// Throws input_error{"kv.block_tokens", ...} where B is below 1 or does not divide the trace's
  /// block; names the nearest block size that does.
  key_scheme(token_count block, token_count trace_block, bool full_only = false);
};

/// Fills `keys` with the keys of the request's findable blocks: key i stands for tokens i*B to
/// (i+1)*B - 1 of prompt and answer. Returns how many of them are looked up by this request itself,
/// that is, belong to its prompt; the others are blocks that its answer completes.
///
/// - Trace ids of blocks of T tokens: one key for each block the prompt's tokens need and an id
///   covers: min(ids * T/B, ceil(input/B)); the last is short where input is no multiple of B and
///   has an id. With full_blocks_only, min(ids * T/B, floor(input/B)). None lie in the answer.
/// - Ids without a block size (object traces): the ids.
/// - Segments: full blocks only. floor(named/B) belong to the prompt, named being the tokens that
///   segments name (at most input). Where request.answer is given and the whole prompt is named,
///   the keys go on to floor((input + output - 1)/B): the last output token has no KV.
/// - Neither: none.
///
/// A salt other than 0 changes every key. Equal prefixes of equal content under one salt and B give
/// equal keys, whatever the segments' kinds.
std::size_t block_keys(const request& row, const key_scheme& scheme, std::vector<block_key>& keys);

}  // namespace refrain
