// What arrives: one request of a trace or a generator, as the rest of the house sees it. A prompt
// is given either by the trace's own block ids (prefix hashes, one per `block_tokens` tokens) or by
// segments of named content, or by its length alone (then nothing of it can be shared).
#pragma once

#include <algorithm>
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

/// What a workload of planted variants did to a text before it was asked. Harmless edits leave its
/// answer as it was; another number and a negation change it.
enum class planted_edit : std::uint8_t { none, harmless, number, negation };

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

/// How a request asks for its blocks to be kept.
struct retention_hint {
  std::int32_t priority = 35;  ///< 0 to 100
  sim_time duration{0};        ///< how long that holds; 0: without end
};

/// How many steps of a workflow lie before an agent's next turn; 0 is the running one.
struct agent_steps {
  std::uint32_t agent;
  std::uint32_t steps;
};

/// One request. A reader fills it anew for each row; vectors keep their capacity.
struct request {
  request_id id;           ///< row in the trace, from 0, counting kept rows
  session_id session;      ///< conversation; a trace without sessions gives every row its own
  std::uint32_t turn = 0;  ///< position in the conversation, from 0
  bool last_turn = true;   ///< no later row belongs to this conversation
  std::uint32_t type = 0;  ///< what it is for, numbered by the trace; 0 where it does not say
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
  retention_hint hint;                ///< in a trace with hints
  std::uint32_t agent = 0;            ///< whose turn it is, in a trace with steps
  std::vector<agent_steps> upcoming;  ///< likewise: the turns of its workflow that are to come
  planted_edit planted = planted_edit::none;  ///< in a workload that knows
};

/// What a request says of itself beside its prompt, for eviction policies that ask.
struct request_notes {
  std::uint32_t category = 0;  ///< its kind
  retention_hint hint;
  std::uint32_t agent = 0;
  std::vector<agent_steps> upcoming;
};

/// The kind of a request is its type and its turn; later turns count as one, and so do types beyond
/// those that a policy is told of.
inline std::uint32_t category_of(const request& row) {
  constexpr std::uint32_t types_told_apart = 32;
  constexpr std::uint32_t turns_told_apart = 8;
  return std::min(row.type, types_told_apart - 1) * turns_told_apart +
         std::min(row.turn, turns_told_apart - 1);
}

}  // namespace refrain
