// How byte-level tokenizers cut a text into pieces before they merge bytes inside each: one rule a
// family of models, written as loops where the models' own files have regular expressions. The
// expressions are those of the models' published tokenizer.json files.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/model_files/characters.hpp"

namespace refrain {

/// Appends the begin of each piece of a run of characters: positions in `characters`, whose last
/// element lies behind the run and is not part of it.
using split_rule = void (*)(std::span<const character> characters,
                            std::vector<std::size_t>& begins);

/// A rule under the names that files have for it in tokenizer.ggml.pre.
struct splitter {
  std::string_view name;
  std::vector<std::string_view> other_names;
  split_rule split;
  bool whole_pieces_first;  ///< a piece that is a token is not merged from bytes
  bool add_bos;             ///< unless the file says otherwise
};

/// All rules.
std::span<const splitter> splitters();
/// The rule of that name, or nothing.
const splitter* find_splitter(std::string_view name);

}  // namespace refrain
