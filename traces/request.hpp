// What arrives: one request of a trace or a generator, as the rest of the house sees it. A prompt
// is given either by the trace's own block ids (prefix hashes, one per `block_tokens` tokens) or by
// segments of named content, or by its length alone (then nothing of it can be shared).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// What a piece of a prompt is.
enum class segment_kind : std::uint8_t { system, history, document, question, answer, web };

/// How many kinds there are.
inline constexpr std::size_t segment_kinds = 6;

/// A run of tokens of one content. Equal content ids mean equal tokens.
struct segment {
  content_id content;
  token_count tokens;
  segment_kind kind;
  bool past = false;          ///< belongs to an earlier turn of the conversation
  std::uint32_t version = 0;  ///< of the document, as the prompt quotes it
  content_id document{};      ///< the document that this is a chunk of; 0: named by its content
  std::uint32_t chunk = 0;    ///< which chunk of that document
};

/// Times of a measured run, relative to the request's arrival.
struct measured_times {
  sim_time ttft;
  sim_time e2e;
};

/// Tokens of one prompt, or of one answer, given by content: they become blocks, so that a row of
/// few bytes must not stand for billions.
inline constexpr token_count content_tokens_max{10'000'000};

/// One request. A reader fills it anew for each row; vectors keep their capacity.
struct request {
  request_id id;           ///< row in the trace, from 0, counting kept rows
  session_id session;      ///< conversation; a trace without sessions gives every row its own
  std::uint32_t turn = 0;  ///< position in the conversation, from 0
  bool last_turn = true;   ///< no later row belongs to this conversation
  /// When it is sent, since the start of the trace. For a later turn of a closed loop (turn > 0 in
  /// a trace with sessions) it is the earliest such time, and the turn also waits for the previous
  /// answer and then for `delay`.
  sim_time arrival{0};
  sim_time delay{0};  ///< think time after the previous answer
  token_count input_tokens;
  token_count output_tokens;
  std::vector<block_key> blocks;  ///< the trace's own ids, first block first; may be empty
  std::vector<segment> segments;  ///< the prompt by content; empty where ids or nothing are known
  content_id answer;              ///< content of the output, 0 when no later prompt contains it
  std::uint64_t salt = 0;         ///< isolation domain: different salts share nothing
  std::uint32_t object_size = 1;  ///< size of the object, in the trace's units (object traces only)
  std::optional<measured_times> measured;
};

}  // namespace refrain
