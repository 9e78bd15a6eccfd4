#include "traces/toml_text.hpp"

#include <algorithm>

namespace refrain {

namespace {

bool is_foreign(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

/// Where the string that opens at `at` ends, behind its closing quote or before the line's end.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, text.size());
}

/// The first byte beyond ASCII that counts, or npos.
std::size_t find_foreign(std::string_view text) {
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size();) {
    char c = text[at];
    if (is_foreign(c)) {
      return at;
    }
    bool quotes = c == '"' || c == '\'';
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (quotes &&
               text.substr(at, 3) == std::string_view{"\"\"\"'''"}.substr(c == '"' ? 0 : 3, 3)) {
      std::size_t end = text.find(text.substr(at, 3), at + 3);
      std::string_view inside = text.substr(at, end == std::string_view::npos ? end : end - at);
      auto foreign = std::find_if(inside.begin(), inside.end(), is_foreign);
      if (foreign != inside.end()) {
        return at + static_cast<std::size_t>(foreign - inside.begin());
      }
      at += inside.size() + 3;
    } else {
      at = quotes ? end_of_string(text, at) : at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t foreign_character_line(std::string_view toml) {
  std::size_t at = find_foreign(toml);
  if (at == std::string_view::npos) {
    return 0;
  }
  auto before = toml.substr(0, at);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace refrain
