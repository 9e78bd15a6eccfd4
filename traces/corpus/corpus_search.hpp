// What a retriever looks up, without time: a question by its name in a prompt, the chunks nearest
// to it, and the prompt with those chunks put before the question, best first. The whole is
// immutable, so contenders that search alike share one.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/corpus/chunk_index.hpp"
#include "traces/corpus/corpus.hpp"
#include "traces/source.hpp"

namespace refrain {

/// How to search a corpus.
struct search_settings {
  chunk_settings chunks{};
  index_settings index{};
  std::size_t width = 1024;  ///< of hashed embeddings
  std::string embeddings{};  ///< a file of embeddings instead; empty = hashed
  std::size_t top = 4;       ///< chunks for a question
  float least = 0;           ///< only chunks with a cosine above this
};

/// A searchable corpus and its questions.
class corpus_search {
 public:
  /// Builds the index. Throws input_error where embeddings are wanting.
  corpus_search(std::shared_ptr<const corpus> what, const search_settings& settings);

  /// The text of a question of the corpus by its name in prompts; nothing for other content.
  std::optional<std::string_view> question(content_id name) const;
  /// The pieces of documents that answer a text, best first.
  std::vector<segment> documents_for(std::string_view question) const;
  const search_settings& settings() const { return settings_; }

 private:
  std::shared_ptr<const corpus> what_;
  search_settings settings_;
  std::unique_ptr<chunk_index> index_;
  std::vector<content_id> documents_;  // their names in prompts
  absl::flat_hash_map<content_id, std::size_t, std::hash<content_id>> questions_;
  absl::flat_hash_map<content_id, token_count, std::hash<content_id>> tokens_;  // of chunks
};

/// The last question of a prompt: its place among the segments, or their number where there is
/// none.
std::size_t place_of_question(const std::vector<segment>& prompt);

/// Puts pieces before the question at `place`; returns the tokens that they add.
token_count insert_documents(std::vector<segment>& prompt, std::size_t place,
                             const std::vector<segment>& documents);

/// The requests with what is found for them in their prompts, as if they were searched for at once:
/// what a first pass counts.
std::unique_ptr<source> with_documents(std::unique_ptr<source> rows,
                                       std::shared_ptr<const corpus_search> search);

}  // namespace refrain
