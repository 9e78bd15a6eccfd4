// A synthetic workload that mixes plain chat and chat over retrieved documents: sessions start as a
// Poisson process, have a geometric number of turns, and wait a log-normal think time between them.
// Every piece of a prompt is named, so prefixes and documents recur as they do in truth. Shapes are
// the usual ones of the field; the defaults are round numbers near published ones (RAGPulse, Azure,
// BurstGPT), not fitted. Left out: load that varies over the day, correlations between lengths,
// documents that change, tool calls.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A log-normal quantity: half of all draws lie below `median`; sigma is of the natural logarithm.
struct log_normal_settings {
  double median;
  double sigma;
};

/// What to generate. At least one of `sessions` and `requests` must be above 0.
struct generator_settings {
  double sessions_per_second = 1;  ///< rate of the Poisson process, 1e-6 to 1e9
  std::uint64_t sessions = 0;      ///< how many sessions; 0 = until `requests` is reached
  /// How many requests at most; the last session is cut short where it does not fit. 0 = no limit.
  std::uint64_t requests = 1000;
  double turns_mean = 3;                     ///< turns of a session, geometric; at least 1
  log_normal_settings think_seconds{20, 1};  ///< between an answer and the next question
  std::uint32_t system_prompts = 4;          ///< shared system prompts; 0 = none
  token_count system_tokens{512};            ///< length of each
  double system_zipf = 1;                    ///< popularity of the i-th is i^-this
  double rag_share = 0.5;                    ///< share of sessions whose turns retrieve documents
  std::uint32_t documents = 10'000;          ///< documents (chunks) there are
  log_normal_settings document_tokens{384, 0.4};
  double document_zipf = 0.9;            ///< popularity of the i-th is i^-this
  std::uint32_t documents_per_turn = 4;  ///< distinct ones, at most `documents`
  log_normal_settings question_tokens{48, 0.8};
  log_normal_settings output_tokens{192, 0.8};
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
