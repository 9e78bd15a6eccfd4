// A workload of questions over a corpus: every request is a system prompt and a question, and the
// documents between them are found by whoever searches. Questions are the corpus' own, drawn by
// Zipf's law, so the popular ones recur; a corpus without questions has some made of its texts.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/corpus/corpus.hpp"
#include "traces/source.hpp"

namespace refrain {

/// What to ask.
struct question_settings {
  std::uint64_t requests = 1000;   ///< at least 1
  double per_second = 1;           ///< Poisson arrivals; 1e-6 to 1e9
  double zipf = 0.9;               ///< the i-th question's popularity is i^-this; 0 to 10
  token_count system_tokens{256};  ///< of the one system prompt; 0 = none
  token_count output_tokens{128};  ///< of every answer; at least 1
};

/// The name of a question in prompts.
content_id content_of_question(const corpus_question& question);

/// The requests, in order of time. The corpus must have questions with text. Questions without text
/// are never asked.
std::unique_ptr<source> make_question_source(std::shared_ptr<const corpus> what,
                                             const question_settings& settings, std::uint64_t seed);

/// Adds `count` questions to a corpus: each is some words in a row of some document, which is its
/// relevant one. Throws input_error where no document has a word. The same seed makes the same.
void make_questions(corpus& what, std::size_t count, std::uint64_t seed);

}  // namespace refrain
