#include "traces/corpus/text.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace refrain {

namespace {

bool is_word_byte(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 128;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Length of the good character at the front, 0 where there is none (RFC 3629, table 3-7 of the
/// Unicode standard).
std::size_t good_character(std::string_view text) {
  auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  std::size_t length = first < 0x80   ? 1
                       : first < 0xC2 ? 0
                       : first < 0xE0 ? 2
                       : first < 0xF0 ? 3
                       : first < 0xF5 ? 4
                                      : 0;
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) {
      return 0;
    }
  }
  bool too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  bool no_scalar = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return too_long || no_scalar ? 0 : length;
}

}  // namespace

std::size_t character_start(std::string_view text, std::size_t at) {
  constexpr std::size_t before_max = 3;
  if (at >= text.size()) {
    return text.size();
  }
  std::size_t start = at;
  while (start > 0 && at - start < before_max && continues_character(text[start])) {
    --start;
  }
  return continues_character(text[start]) ? at : start;
}

std::optional<std::size_t> utf8_fault(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) {
    return std::nullopt;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = good_character(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = at;
    while (at < text.size() && is_word_byte(static_cast<unsigned char>(text[at]))) {
      ++at;
    }
    if (at > begin) {
      std::string& word = words.emplace_back(text.substr(begin, at - begin));
      std::ranges::transform(word, word.begin(), lower);
    } else {
      ++at;
    }
  }
  return words;
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

}  // namespace refrain
