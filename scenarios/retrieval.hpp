// The corpus of a scenario: the workload of questions over it, and how each contender searches it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "actors/plan.hpp"
#include "scenarios/settings.hpp"
#include "traces/adapt.hpp"
#include "traces/corpus/corpus.hpp"

namespace refrain {

/// What workload.format is where questions are asked over a corpus.
inline constexpr std::string_view questions_format = "questions";

/// The tokens of texts by workload.tokenizer; null where there is none.
std::shared_ptr<token_book> load_words(const scenario_settings& settings);

/// Throws input_error where corpus.format is no name of one.
void check_corpus_format(const scenario_settings& settings);
/// The corpus that corpus.path and corpus.format name. Throws input_error where it is bad.
corpus read_scenario_corpus(const scenario_settings& settings, const std::string& file);

/// The corpus that corpus.path names, or that `updates` begin with, with questions. Throws
/// input_error where it is bad or has none.
std::shared_ptr<const corpus> load_corpus(const scenario_settings& settings,
                                          const std::string& file, const update_stream& updates);

/// The requests of [workload.questions], each time from the first.
source_opener open_questions(const scenario_settings& settings, std::shared_ptr<const corpus> what);

/// What identifies the corpus in results: a SHA-256 of its documents and questions, however stored.
std::string sha256_of_corpus(const corpus& what);

/// Resolves how contenders search; those that search alike share one index.
class retrieval_planner {
 public:
  /// Throws input_error for search settings without a corpus (null) and for embeddings that do not
  /// fit. Contenders whose documents are named by other rules have searches of other numbers.
  retrieval_plan plan(const scenario_settings& settings, const std::shared_ptr<const corpus>& what,
                      const knowledge_plan& knowledge);

 private:
  struct known_search {
    std::shared_ptr<const corpus_search> search;
    std::size_t number = 0;
  };
  std::map<std::string, known_search> searches_;
};

/// Whether the key says how to search and the contender does not read it.
bool is_idle_search(std::string_view key, const retrieval_plan& plan);

}  // namespace refrain
