#include "traces/corpus/fingerprint.hpp"

#include <xxhash.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numbers>

#include "traces/corpus/dot.hpp"
#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

std::string exact_fingerprint::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) {
      text += digits[(half >> shift) & 15];
    }
  }
  return text;
}

exact_fingerprint fingerprint_of(std::string_view text) {
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

std::optional<exact_fingerprint> parse_fingerprint(std::string_view hex) {
  exact_fingerprint value;
  if (hex.size() != 32) {
    return std::nullopt;
  }
  const char* middle = hex.data() + 16;
  const char* end = hex.data() + 32;
  auto high = std::from_chars(hex.data(), middle, value.high, 16);
  auto low = std::from_chars(middle, end, value.low, 16);
  bool good =
      high.ec == std::errc{} && high.ptr == middle && low.ec == std::errc{} && low.ptr == end;
  return good ? std::optional{value} : std::nullopt;
}

hyperplanes::hyperplanes(std::size_t count, std::size_t width, std::uint64_t seed,
                         std::string_view purpose)
    : count_{count}, width_{width} {
  random_stream random{seed, purpose};
  normals_.reserve(count * width);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count * width; ++i) {
    bits = i % 64 == 0 ? random.next() : bits >> 1;
    normals_.push_back((bits & 1) != 0 ? 1.0f : -1.0f);
  }
}

void hyperplanes::project(std::span<const float> vector, std::span<float> out) const {
  REFRAIN_ASSERT(vector.size() == width_ && out.size() == count_);
  for (std::size_t i = 0; i < count_; ++i) {
    out[i] = dot({normals_.data() + i * width_, width_}, vector);
  }
}

simhash::simhash(std::size_t width, std::uint64_t seed) : planes_{64, width, seed, "simhash"} {}

std::uint64_t simhash::of(std::span<const float> embedding) const {
  std::array<float, 64> sides{};
  planes_.project(embedding, sides);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    bits |= std::uint64_t{sides[i] >= 0} << i;
  }
  return bits;
}

double cosine_of_simhashes(std::uint64_t a, std::uint64_t b) {
  return std::cos(std::numbers::pi * std::popcount(a ^ b) / 64);
}

}  // namespace refrain
