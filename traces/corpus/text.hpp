// Text as the corpus code sees it: bytes. Without a tokenizer (token_book) a text has ceil(bytes /
// 4) tokens, which is near what byte-pair tokenizers give for English. Cuts fall between UTF-8
// characters; bytes that are no UTF-8 are cut like any others and refused only by readers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// Bytes that stand for a token.
inline constexpr std::size_t bytes_per_token = 4;

/// Tokens of a text of so many bytes: ceil(bytes / 4).
constexpr token_count tokens_of_bytes(std::size_t bytes) {
  return token_count{static_cast<std::int64_t>((bytes + bytes_per_token - 1) / bytes_per_token)};
}

/// Whether a byte goes on with a UTF-8 character that began before it.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

/// The start of the character that holds byte `at`: at most three bytes before, `at` itself where
/// the text there is no UTF-8 or ends.
std::size_t character_start(std::string_view text, std::size_t at);

/// Where the first byte stands that makes the text no UTF-8; nothing for good text.
std::optional<std::size_t> utf8_fault(std::string_view text);

/// The words of a text in order: runs of ASCII letters and digits and of bytes from 128 on, ASCII
/// in lower case.
std::vector<std::string> words_of(std::string_view text);

/// The text as one JSON string in quotes. It must be UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace refrain
