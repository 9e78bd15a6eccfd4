// A synthetic workload that mixes plain chat and chat over retrieved documents: sessions start by
// an arrival process, have a number of turns, and wait a think time between them. Every piece of a
// prompt is named, so prefixes and documents recur as they do in truth. Shapes are the usual ones
// of the field; the defaults are round numbers near published ones (RAGPulse, Azure, BurstGPT), not
// fitted; `fit.hpp` finds settings from a trace. Left out: correlations between lengths, documents
// that change, tool calls. Memory does not grow with the number of requests.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/arrivals.hpp"
#include "traces/integers.hpp"
#include "traces/quantiles.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Shape of a quantity that is given by its median.
enum class quantity_law : std::uint8_t { log_normal, exponential };

/// A quantity to draw: by its quantiles where they are given, else by a law with this median.
struct drawn_quantity {
  double median = 0;
  double sigma = 0;  ///< of the natural logarithm; log-normal only
  quantity_law law = quantity_law::log_normal;
  quantile_table quantiles{};
};

/// What to generate. At least one of `sessions` and `requests` must be above 0, unless arrivals are
/// replayed.
struct generator_settings {
  double sessions_per_second = 1;  ///< arrivals.per_second; kept here since every process has it
  arrival_settings arrivals{};     ///< of session starts
  std::uint64_t sessions = 0;      ///< how many sessions; 0 = until `requests` is reached
  /// How many requests at most; the last session is cut short where it does not fit. 0 = no limit.
  std::uint64_t requests = 1000;
  double turns_mean = 3;         ///< turns of a session, geometric; at least 1
  quantile_table turns{};        ///< turns of a session, rounded; instead of turns_mean
  double single_turn_share = 0;  ///< share of sessions that have one turn, whatever `turns` says
  drawn_quantity think_seconds{20, 1};  ///< between an answer and the next question
  drawn_quantity rag_think_seconds{};   ///< the same in retrieving sessions; median 0 = as above
  std::uint32_t system_prompts = 4;     ///< shared system prompts; 0 = none
  token_count system_tokens{512};       ///< length of each
  double system_zipf = 1;               ///< popularity of the i-th is i^-this
  double system_share = 1;              ///< share of sessions that begin with one
  double rag_share = 0.5;               ///< share of sessions whose turns retrieve documents
  std::uint32_t documents = 10'000;     ///< documents (chunks) there are
  drawn_quantity document_tokens{384, 0.4};
  double document_zipf = 0.9;            ///< popularity of the i-th is i^-this
  std::uint32_t documents_per_turn = 4;  ///< distinct ones, at most `documents`
  /// A document drawn twice in a turn is drawn anew; else the next less popular one takes its
  /// place.
  bool redraws_duplicates = false;
  /// Documents an hour that lose the first place of the ranking to the next and go to its end.
  double document_drift = 0;
  /// Probability that a turn takes its documents from those that its session used before.
  double document_repeat = 0;
  drawn_quantity question_tokens{48, 0.8};
  drawn_quantity
      single_question_tokens{};      ///< of sessions of single_turn_share; median 0 = as above
  drawn_quantity followup_tokens{};  ///< of later turns' questions; median 0 = as the first's
  drawn_quantity output_tokens{192, 0.8};
  /// Share of the previous prompt and answer that a later turn keeps, from the front; empty = all.
  quantile_table history_kept{};
  /// Later prompts contain the answers as they were produced; false: what they contain of them is
  /// part of the question, under a new name.
  bool answers_recur = true;
  std::uint32_t tenants = 1;           ///< isolation domains; two or more have a salt each
  double tenant_zipf = 1;              ///< share of the i-th in the sessions is i^-this
  bool tenant_system_prompts = false;  ///< each tenant has system prompts of its own
  /// Longest prompt: a session ends before the turn that would exceed it; a first turn gives up
  /// documents, last first, and then cuts its question. Above system_tokens.
  token_count prompt_tokens_max{16'384};
};

/// The requests of a workload, session by session in order of their start, each session whole: turn
/// 0 with its arrival, later turns with their think time and, as the earliest possible time, their
/// session's start. A prompt is the system prompt, then for each earlier turn its documents,
/// question and answer, then this turn's documents and question. The same settings and seed give
/// the same requests. Throws input_error naming "workload.KEY" for settings out of range.
std::unique_ptr<source> make_generator(const generator_settings& settings, std::uint64_t seed);

}  // namespace refrain
