// A workload that knows which reuse would be wrong: texts of a corpus, each asked as it stands and
// later with planted edits (planted_edits.hpp), of which it is known whether they change the
// answer. Every request is a system prompt and one text, as a document. All texts come first as
// they are, then their variants in a drawn order. A text that is there already is not planted
// twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/corpus/corpus.hpp"
#include "traces/corpus/embedding.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Which texts of a corpus are asked.
enum class variant_texts : std::uint8_t { questions, documents, both };
inline constexpr std::string_view variant_texts_names[] = {"questions", "documents", "both"};

/// What to ask.
struct variant_settings {
  variant_texts texts = variant_texts::questions;
  std::uint64_t originals = 0;          ///< the first so many of them; 0 = all
  double per_second = 1;                ///< Poisson arrivals; 1e-6 to 1e9
  token_count system_tokens{256};       ///< of the one system prompt; 0 = none
  token_count output_tokens{128};       ///< of every answer; at least 1
  std::shared_ptr<token_book> words{};  ///< null: texts are measured by their bytes
};

/// Names of planted_edit's values.
inline constexpr std::string_view planted_edit_names[] = {"none", "harmless", "number", "negation"};

/// A text that is asked.
struct planted_text {
  std::string text;
  content_id content;
  std::uint32_t original = 0;  ///< place of the text that it was made from: its own, if from none
  planted_edit edit = planted_edit::none;
};

/// The texts in the order in which they are asked: of every original at most one variant with a
/// harmless edit, one with another number and one with a negation. A pure function of corpus,
/// settings and seed. Throws input_error where the corpus has no such text.
std::vector<planted_text> plant_variants(const corpus& what, const variant_settings& settings,
                                         std::uint64_t seed);

/// What KV of `other` is in the place of that of `wanted`.
stand_in judge(const planted_text& wanted, const planted_text& other);

/// What the texts are like: their embeddings, and as tokens their words and marks as they are
/// written, white space left out. Similar ones are sought among the 32 nearest by cosine. Throws
/// what `texts` throws.
std::shared_ptr<const text_table> make_planted_table(const std::vector<planted_text>& planted,
                                                     const embedder& texts);

/// The requests. The table goes into the source's info.
std::unique_ptr<source> make_variant_source(
    std::shared_ptr<const std::vector<planted_text>> planted,
    std::shared_ptr<const text_table> table, const variant_settings& settings, std::uint64_t seed);

}  // namespace refrain
