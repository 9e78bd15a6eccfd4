// Edits planted into texts whose effect is known. Those that change what a text says (another
// number, a negation) make reuse of the original's KV wrong however alike the two look; those that
// do not (case, a mark at the end, a doubled space, an article) make it right. They are made of the
// text's ASCII bytes alone, without grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "traces/random.hpp"

namespace refrain {

/// The text with one digit of one number changed, both drawn. A number is a run of digits, single
/// points and commas between them included; none of more digits comes to begin with 0. Nothing
/// where the text has no number.
std::optional<std::string> with_other_number(std::string_view text, random_stream& choice);

/// The text with " not" behind one of its auxiliaries in lower case (is, was, did, can, ...), drawn
/// from those that "not" does not follow. Nothing where there is none.
std::optional<std::string> negated(std::string_view text, random_stream& choice);

/// The text with one harmless edit, drawn from those that apply: all letters lower, the last mark
/// left out or one added, a space doubled, an article (the, a, an) left out. Nothing for an empty
/// text.
std::optional<std::string> edited_harmlessly(std::string_view text, random_stream& choice);

}  // namespace refrain
