// How `refrain corpus` is told to cut and to search, and how it says what it was told.
#pragma once

#include <string>
#include <vector>

#include "scenarios/arguments.hpp"
#include "scenarios/json.hpp"
#include "traces/corpus/chunk_index.hpp"

namespace refrain {

/// A corpus and the ways to search it.
struct corpus_options {
  corpus what;
  chunk_settings chunks;
  std::vector<index_settings> indexes;
  std::size_t width = 0;
  std::string embeddings;        ///< path; empty: hashed terms
  std::vector<std::size_t> top;  ///< ascending
};

/// Adds the options to a command.
void add_corpus_options(arguments& given);

/// The option --span: tokens of a chunk. Throws input_error.
token_count chunk_span_of(const arguments& given);

/// Reads "FORMAT:PATH". Throws input_error.
corpus read_named_corpus(const std::string& text);

/// Reads the corpus and the options. Throws input_error and usage_error naming the option.
corpus_options read_corpus_options(const arguments& given, const std::string& text);

/// What was searched, for --json.
json describe_corpus(const corpus_options& options, std::size_t chunks);
/// An index's settings, for --json.
json describe_index(const index_settings& index);

}  // namespace refrain
