// Two fingerprints of a piece of text. The exact one is what reuse may rest on: 128 bits of XXH3
// (xxHash), equal for equal bytes and, among a trillion different texts, equal by accident with
// odds below 10^-14. The semantic one only finds candidates: it is near for texts whose embeddings
// are near (SimHash, Charikar, STOC 2002), and equal KV must never be concluded from it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// 128 bits that stand for the bytes of a text.
struct exact_fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  std::string hex() const;
  /// A name for prompts' pieces: 64 of the bits, never 0.
  content_id content() const { return content_id{low == 0 ? high | 1 : low}; }

  friend auto operator<=>(const exact_fingerprint&, const exact_fingerprint&) = default;
  template <class Hash>
  friend Hash AbslHashValue(Hash state, const exact_fingerprint& value) {
    return Hash::combine(std::move(state), value.high, value.low);
  }
};

/// The fingerprint of a text.
exact_fingerprint fingerprint_of(std::string_view text);
/// The fingerprint written as 32 hexadecimal digits; nothing for other text.
std::optional<exact_fingerprint> parse_fingerprint(std::string_view hex);

/// Random hyperplanes through the origin: which side of each a vector lies on.
class hyperplanes {
 public:
  /// `count` planes in `width` dimensions, their normals of signs drawn from (seed, purpose).
  hyperplanes(std::size_t count, std::size_t width, std::uint64_t seed, std::string_view purpose);

  std::size_t count() const { return count_; }
  /// Signed distances from the planes, up to one common factor; ones that are not below 0 are a 1
  /// bit. `out` has a place for each plane.
  void project(std::span<const float> vector, std::span<float> out) const;

 private:
  std::size_t count_, width_;
  std::vector<float> normals_;  // row by row
};

/// Makes semantic fingerprints of 64 bits.
class simhash {
 public:
  /// For embeddings of `width` numbers.
  explicit simhash(std::size_t width, std::uint64_t seed = 0);
  std::uint64_t of(std::span<const float> embedding) const;

 private:
  hyperplanes planes_;
};

/// The cosine of the angle between two embeddings as their semantic fingerprints show it.
double cosine_of_simhashes(std::uint64_t a, std::uint64_t b);

}  // namespace refrain
