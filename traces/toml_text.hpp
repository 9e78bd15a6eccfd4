// A guard before toml++ 3.3, whose test for white space runs into __builtin_unreachable at some
// characters that are not ASCII (U+0133, say). TOML allows such characters only in strings and
// comments, so everywhere else they are refused before the parser sees them; in strings of several
// lines too, where it makes the same test.
#pragma once

#include <cstddef>
#include <string_view>

namespace refrain {

/// Line (from 1) of the first byte beyond ASCII outside of comments and one-line strings; 0 where
/// there is none. A byte order mark at the front does not count.
std::size_t foreign_character_line(std::string_view toml);

}  // namespace refrain
