// The keys under which a request's KV blocks are found. Where a trace names its blocks, its ids are
// the keys, or each is cut into sub-blocks; where it names content, keys chain over the prompt and
// on into the answer, so that the next turn finds both; where it gives lengths only, nothing is
// shared. Keys are 64 bits: among n distinct blocks two collide with odds of about n^2 / 2^65 (one
// in 37,000 at 2^25). Chains of chosen content could collide on purpose; stored KV is guarded
// apart.
//
// Where chunks are reused wherever they stand, each has blocks of its own, cut from its start and
// keyed by what it is alone; the text between them is cut from the end of the chunk before and
// keyed by all that precedes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/integers.hpp"
#include "traces/request.hpp"
#include "traces/texts.hpp"

namespace refrain {

/// How prompts are cut into blocks.
struct key_scheme {
  token_count block_tokens;        ///< tokens of a KV block
  token_count trace_block_tokens;  ///< tokens of a trace's id (trace_info::block_tokens); 0 = none
  bool full_blocks_only = false;   ///< a trace's short last block is not shared
  std::uint8_t chunk_kinds = 0;    ///< kinds of segments that are chunks: bits by segment_kind

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

/// The bit of a kind in key_scheme::chunk_kinds.
constexpr std::uint8_t kind_bit(segment_kind kind) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
}

/// Other KV that may stand for a chunk's.
struct chunk_donor {
  std::uint32_t first_key = 0;  ///< into prompt_layout::donor_keys
  std::uint32_t end_key = 0;
  bool named = false;       ///< of the same document: looked up in every memory, as the chunk is
  bool stale = false;       ///< of it as it was, and of another text
  bool goes_first = false;  ///< before the chunk's own KV
  stand_in truth = stand_in::unjudged;
};

/// A chunk in a prompt.
struct chunk_place {
  std::uint32_t first_block = 0;
  std::uint32_t end_block = 0;  ///< behind its last
  token_count begin;            ///< of the prompt's tokens
  token_count end;
  std::uint64_t context = 0;          ///< names all that precedes it, in order; never 0
  std::uint32_t segment = 0;          ///< which of the request's
  bool looked_up = true;              ///< false: what is cached of it is known to be of no use
  std::vector<chunk_donor> donors{};  ///< best first
};

/// How a prompt is cut where chunks have blocks of their own: blocks up to the tail end where
/// `ends` says, those behind it (the text after the last chunk, and the answer) are even.
struct prompt_layout {
  std::vector<token_count> ends;
  std::vector<std::int32_t> chunk_of;  ///< by block before the tail: index into chunks, or -1
  std::vector<chunk_place> chunks;
  std::vector<block_key> donor_keys;
  bool names_donors = false;  ///< some donor is `named`
  token_count tail_begin;
  token_count block_tokens;
  std::size_t prompt_keys = 0;   ///< keys that the prompt itself looks up
  bool answer_is_chunk = false;  ///< the keys behind them stand for the answer alone

  /// Tokens up to the end of a block when it is full.
  token_count end_of(std::size_t block) const {
    return block < ends.size()
               ? ends[block]
               : tail_begin +
                     token_count{static_cast<std::int64_t>(block + 1 - ends.size()) * block_tokens};
  }
  /// Blocks that the first `tokens` tokens take.
  std::int64_t blocks_for(token_count tokens) const;
  /// The chunk that a block belongs to, or nullptr.
  const chunk_place* chunk_at(std::size_t block) const {
    bool in_chunk = block < chunk_of.size() && chunk_of[block] >= 0;
    return in_chunk ? &chunks[static_cast<std::size_t>(chunk_of[block])] : nullptr;
  }
};

/// What names a chunk's KV wherever it stands: salt, document, version and chunk, or salt and
/// content where no document is named.
std::uint64_t chunk_root(std::uint64_t salt, const segment& chunk);

/// Appends the keys of a chunk's first `tokens` tokens; a short last block has one too.
void append_chunk_keys(std::uint64_t root, token_count tokens, token_count block_tokens,
                       std::vector<block_key>& keys);

/// As block_keys, for a request given by segments under a scheme with chunk kinds; fills `layout`
/// too. A block of a chunk is short where the chunk ends in it, and so is one of the text before a
/// chunk; both are findable. Segments without tokens are passed over. The answer's keys chain on
/// from the prompt, or stand for a chunk where answers are chunks and nothing stands before it in
/// the tail.
void chunk_keys(const request& row, const key_scheme& scheme, std::vector<block_key>& keys,
                prompt_layout& layout);

}  // namespace refrain
