// Cutting documents into chunks, the pieces whose KV is reused wherever they stand. Three rules:
// `fixed` cuts every span; `heading` cuts before Markdown headings (ATX, outside of fenced code)
// and, in longer sections, at paragraphs and lines; `content` cuts where a rolling hash of the last
// 64 bytes says so (gear hash with two masks, FastCDC: Xia et al., USENIX ATC 2016), so that
// cuts move with the text when something is inserted before them. Left out: Setext headings.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "traces/corpus/text.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// How documents are cut.
enum class chunk_rule : std::uint8_t { fixed, heading, content };

/// The rules' names, in order of the enumeration.
inline constexpr std::string_view chunk_rule_names[] = {"fixed", "heading", "content"};

/// A rule and its size. A span is at least one token.
struct chunk_settings {
  chunk_rule rule = chunk_rule::fixed;
  /// fixed: tokens of every chunk but the last. heading: tokens of a chunk at most. content: tokens
  /// of a chunk on average, about; at least a quarter of it and at most twice as many.
  token_count span_tokens{384};
};

/// A piece of a text.
struct text_chunk {
  std::size_t begin = 0;  ///< its first byte
  std::size_t bytes = 0;  ///< how many; at least one

  token_count tokens() const { return tokens_of_bytes(bytes); }
  std::string_view in(std::string_view text) const { return text.substr(begin, bytes); }
  friend bool operator==(const text_chunk&, const text_chunk&) = default;
};

/// Cuts a text. The chunks follow each other and make up the whole text; an empty one has none. No
/// cut falls into a UTF-8 character, so a fixed chunk may be three bytes short. A section of less
/// than an eighth of a span goes together with the next one. Time and memory are linear.
std::vector<text_chunk> cut_text(std::string_view text, const chunk_settings& settings);

}  // namespace refrain
