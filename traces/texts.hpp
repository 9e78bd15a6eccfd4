// What texts are like: an embedding and the tokens of contents that a workload names, for reuse of
// KV between similar texts. A table may know candidates for a search (an index); else all are
// compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// Whether the answer stays right where KV of one text stands in for another's; where it does not,
/// why not: a number differs between them, or a negation, or they are different texts altogether.
enum class stand_in : std::uint8_t { unjudged, right, number, negation, other };

/// How many there are.
inline constexpr std::size_t stand_ins = 5;

/// Texts by content.
class text_table {
 public:
  virtual ~text_table() = default;
  /// Numbers of an embedding.
  virtual std::size_t width() const = 0;
  /// The embedding, finite numbers; empty where there is none.
  virtual std::span<const float> embedding(content_id content) const = 0;
  /// The tokens; empty where they are not known.
  virtual std::span<const std::uint32_t> tokens(content_id content) const = 0;
  /// Contents among which the similar ones are; nothing: among all.
  virtual std::optional<std::vector<content_id>> candidates(content_id /*content*/) const {
    return std::nullopt;
  }
  /// What KV of `other` is in the place of that of `wanted`, where the workload knows.
  virtual stand_in judge(content_id /*wanted*/, content_id /*other*/) const {
    return stand_in::unjudged;
  }
};

/// A table in memory.
class text_store final : public text_table {
 public:
  explicit text_store(std::size_t width) : width_{width} {}

  /// Adds or replaces a text; either part may be empty. Throws input_error{where, ...} for an
  /// embedding of another width or with numbers that are not finite, or that is all zeros.
  void add(content_id content, std::span<const float> embedding,
           std::span<const std::uint32_t> tokens, const std::string& where);

  std::size_t width() const override { return width_; }
  std::span<const float> embedding(content_id content) const override;
  std::span<const std::uint32_t> tokens(content_id content) const override;

 private:
  struct text {
    std::vector<float> embedding;
    std::vector<std::uint32_t> tokens;
  };
  std::size_t width_;
  std::unordered_map<std::uint64_t, text> texts_;
};

/// The cosine of the angle between two embeddings of equal width; nan where one is empty.
double cosine_of(std::span<const float> a, std::span<const float> b);

/// 1 - edit distance / longer length: 1 for equal sequences; nan where one is empty. Takes time and
/// memory for the product and the minimum of the lengths.
double levenshtein_ratio(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace refrain
