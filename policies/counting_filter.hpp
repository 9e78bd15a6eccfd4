// libCacheSim's counting Bloom filter, so that its W-TinyLFU can be met to the digit: ten counters
// a key (error 0.001) by double hashing with XXH64, all of them raised by an addition, the least of
// them the count. Counters have 16 bits and stay at their limit, where libCacheSim's have 32: 29
// bytes a key.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// Counts for about `keys` different keys.
class counting_filter {
 public:
  explicit counting_filter(std::int64_t keys) {
    double per_key = -std::log(0.001) / 0.480453013918201;
    hashes_ = static_cast<std::uint32_t>(std::ceil(0.693147180559945 * per_key));
    auto counters = static_cast<std::size_t>(std::ceil(per_key * static_cast<double>(keys)));
    counters_.resize(counters < hashes_ ? hashes_ * 2 : counters);
  }

  /// One more use of a key.
  void add(block_key key) {
    for_each(key, [](std::uint16_t& counter) {
      counter = static_cast<std::uint16_t>(counter + (counter < UINT16_MAX ? 1 : 0));
    });
  }
  /// About how often a key was added lately; never less.
  std::uint32_t count(block_key key) {
    std::uint32_t least = UINT32_MAX;
    for_each(key, [&](std::uint16_t& counter) { least = std::min<std::uint32_t>(least, counter); });
    return least;
  }
  void halve() {
    for (std::uint16_t& counter : counters_) {
      counter /= 2;
    }
  }

 private:
  // XXH64 of eight bytes.
  static std::uint64_t hash(std::uint64_t value, std::uint64_t seed) {
    constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F,
                            p3 = 0x165667B19E3779F9, p4 = 0x85EBCA77C2B2AE63,
                            p5 = 0x27D4EB2F165667C5;
    std::uint64_t h = seed + p5 + 8;
    h ^= std::rotl(value * p2, 31) * p1;
    h = std::rotl(h, 27) * p1 + p4;
    h = (h ^ h >> 33) * p2;
    h = (h ^ h >> 29) * p3;
    return h ^ h >> 32;
  }

  template <class Do>
  void for_each(block_key key, Do action) {
    auto a = static_cast<std::uint32_t>(hash(key, 0x12345678));
    auto b = static_cast<std::uint32_t>(hash(key, 0x12344321));
    auto counters = static_cast<std::uint32_t>(counters_.size());
    for (std::uint32_t i = 0; i < hashes_; ++i) {
      action(counters_[(a + i * b) % counters]);
    }
  }

  std::uint32_t hashes_;
  std::vector<std::uint16_t> counters_;
};

}  // namespace refrain
