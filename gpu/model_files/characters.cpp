#include "gpu/model_files/characters.hpp"

#include <utf8proc.h>

#include <limits>

#include "traces/error.hpp"

namespace refrain {
namespace {

character_class class_of(char32_t code) {
  if ((code >= 9 && code <= 13) || code == 0x85) {
    return character_class::space;
  }
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
    return character_class::letter;
  }
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
    return character_class::number;
  }
  bool separator = category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
  return separator ? character_class::space : character_class::other;
}

/// The first character and its bytes; 0 bytes where it is broken.
std::pair<char32_t, std::size_t> first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                           static_cast<utf8proc_ssize_t>(text.size()), &code);
  return size > 0 ? std::pair{static_cast<char32_t>(code), static_cast<std::size_t>(size)}
                  : std::pair{char32_t{0xfffd}, std::size_t{0}};
}

}  // namespace

std::vector<character> characters_of(std::string_view text) {
  REFRAIN_ASSERT(text.size() < std::numeric_limits<std::uint32_t>::max());
  std::vector<character> out;
  out.reserve(text.size() + 1);
  std::size_t at = 0;
  while (at < text.size()) {
    auto [code, size] = first_character(text.substr(at));
    out.push_back({code, static_cast<std::uint32_t>(at),
                   size == 0 ? character_class::other : class_of(code)});
    at += size == 0 ? 1 : size;
  }
  out.push_back({0, static_cast<std::uint32_t>(at), character_class::other});
  return out;
}

std::size_t first_character_bytes(std::string_view text) {
  std::size_t size = first_character(text).second;
  return size == 0 ? 1 : size;
}

void append_utf8(std::string& out, char32_t code) {
  utf8proc_uint8_t bytes[4];
  utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace refrain
