// A text as characters with the classes that tokenizers ask for. Classes are those of utf8proc
// (Unicode 14 and later). A byte that belongs to no character is one of its own, of class other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// Unicode's L, N and White_Space, and all the rest.
enum class character_class : std::uint8_t { letter, number, space, other };

/// One character of a text.
struct character {
  char32_t code;        ///< U+FFFD for a byte that belongs to no character
  std::uint32_t begin;  ///< its first byte
  character_class kind;
};

/// All characters of a text of less than 4 GiB, and one more behind them that begins at its end.
std::vector<character> characters_of(std::string_view text);

/// Bytes of the first character of a text that is not empty; 1 where it is broken.
std::size_t first_character_bytes(std::string_view text);

/// Appends a character as UTF-8.
void append_utf8(std::string& out, char32_t code);

}  // namespace refrain
