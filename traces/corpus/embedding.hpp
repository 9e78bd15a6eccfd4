// Texts as vectors. The embedder of our own hashes the words of a text and the three-letter pieces
// of longer words into a fixed number of places with a sign each (Weinberger et al., ICML 2009),
// weighed by saturating counts and by how rare a term is in the corpus: no model, no downloads, the
// same everywhere. It knows shared words, not meanings; real embeddings come from a file
// (embedding_file.hpp).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace refrain {

/// Turns texts into vectors of one width.
class embedder {
 public:
  virtual ~embedder() = default;
  virtual std::size_t width() const = 0;
  /// Fills `out` with a vector of length 1, or with zeros where the text has nothing to go by.
  virtual void embed(std::string_view text, std::span<float> out) const = 0;

  /// The same as a vector of its own.
  std::vector<float> of(std::string_view text) const {
    std::vector<float> vector(width());
    embed(text, vector);
    return vector;
  }
};

/// The hashed embedder.
class hashed_embedder final : public embedder {
 public:
  /// Width 8 to 65,536; `seed` chooses where terms go.
  explicit hashed_embedder(std::size_t width = 1024, std::uint64_t seed = 0);

  /// Learns from a text of the corpus how common its terms are. Before the first, all weigh alike.
  void learn(std::string_view text);

  std::size_t width() const override { return width_; }
  void embed(std::string_view text, std::span<float> out) const override;

 private:
  using term_counts = std::vector<std::pair<std::uint64_t, std::uint32_t>>;  // ascending

  term_counts terms_of(std::string_view text) const;
  float rarity_of(std::uint64_t term) const;

  std::size_t width_;
  std::uint64_t seed_;
  std::uint64_t texts_ = 0;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> texts_with_;  // by term; only looked up
};

/// Scales a vector to length 1; false where it has none.
bool normalise(std::span<float> vector);

}  // namespace refrain
