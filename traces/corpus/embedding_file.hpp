// Embeddings that somebody else's model made: JSON lines, plain or packed, each with the text that
// it belongs to (or that text's fingerprint, as `refrain corpus chunks` prints it) and its numbers:
//
//   {"text": "what is a vector", "embedding": [0.1, -0.2, ...]}
//   {"fingerprint": "0123456789abcdef0123456789abcdef", "embedding": [0.1, -0.2, ...]}
//
// All must have one width and be finite; they are scaled to length 1. Equal texts are one text.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <string>

#include "traces/corpus/embedding.hpp"
#include "traces/corpus/fingerprint.hpp"

namespace refrain {

/// Looks embeddings up.
class embedding_file final : public embedder {
 public:
  /// Reads the file. Throws input_error naming file and line for a row without text, of another
  /// width than the first, with a number that is not finite, all zeros, or given twice.
  explicit embedding_file(const std::string& path);

  std::size_t width() const override { return width_; }
  /// Throws input_error naming the file where it has no embedding of the text.
  void embed(std::string_view text, std::span<float> out) const override;
  /// Whether it has one of the text.
  bool has(std::string_view text) const { return places_.contains(fingerprint_of(text)); }
  std::size_t size() const { return places_.size(); }

 private:
  void add(const exact_fingerprint& text, const std::vector<double>& numbers);

  std::string path_;
  std::size_t width_ = 0;
  std::vector<float> numbers_;  // row by row
  absl::flat_hash_map<exact_fingerprint, std::size_t> places_;
};

}  // namespace refrain
