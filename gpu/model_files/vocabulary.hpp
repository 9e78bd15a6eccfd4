// The tokens of a model file and the keys around them: what every kind of tokenizer starts from.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/model_files/gguf_file.hpp"

namespace refrain {

/// A token: its row in the embedding.
using token_id = std::int32_t;

/// What a token is for; the numbers are those of GGUF files.
enum class token_kind : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       ///< stands in text only where the caller allows it
  user_defined = 4,  ///< taken out of every text as a whole
  unused = 5,
  byte = 6,
};

/// Tokens with their texts, as the file writes them, and what is put around a text.
struct vocabulary {
  std::vector<std::string> texts;
  std::vector<token_kind> kinds;
  std::vector<float> scores;  ///< empty where the file has none
  absl::flat_hash_map<std::string_view, token_id> ids;
  std::optional<token_id> bos, eos, unknown;
  std::vector<token_id> ends_of_generation;
  bool add_bos = false;
  bool add_eos = false;

  vocabulary() = default;
  vocabulary(vocabulary&&) = default;  // a copy's `ids` would point into the original
  vocabulary& operator=(vocabulary&&) = default;

  std::size_t size() const { return texts.size(); }
  std::optional<token_id> find(std::string_view text) const;
  /// Fills `ids` (of equal texts the first) and `ends_of_generation`.
  void index();
};

/// The vocabulary under the tokenizer.ggml keys. Throws input_error naming the key at fault.
vocabulary read_vocabulary(const gguf_file& file);

}  // namespace refrain
