// How often keys were seen lately, in little memory: a count-min sketch of four rows of small
// counters with conservative update, all halved after every `sample` additions, so that old counts
// fade (TinyLFU's reset). An estimate is never below the true count while that is below the
// counters' limit and nothing was halved.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "policies/key_map.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Counts for about `keys` different keys: 8 to 16 bytes a key.
class frequency_sketch {
 public:
  frequency_sketch(std::int64_t keys, std::int64_t sample)
      : counters_(rows *
                  std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(keys, 4)) * 2)),
        mask_{counters_.size() / rows - 1},
        sample_{std::max<std::int64_t>(sample, 1)} {}

  /// One more use of a key.
  void add(block_key key) {
    std::size_t places[rows];
    std::uint8_t least = find(key, places);
    if (least < UINT8_MAX) {
      for (std::size_t place : places) {
        counters_[place] = std::max<std::uint8_t>(counters_[place], least + 1);
      }
    }
    if (++added_ == sample_) {
      added_ = 0;
      for (std::uint8_t& counter : counters_) {
        counter /= 2;
      }
    }
  }
  /// About how often a key was added lately.
  std::uint32_t count(block_key key) const {
    std::size_t places[rows];
    return find(key, places);
  }

 private:
  static constexpr std::size_t rows = 4;

  std::uint8_t find(block_key key, std::size_t (&places)[rows]) const {
    std::uint64_t hash = key_hash{}(key);
    std::uint8_t least = UINT8_MAX;
    for (std::size_t row = 0; row < rows; ++row) {
      hash = hash * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u;
      places[row] = row * (mask_ + 1) + (hash >> 32 & mask_);
      least = std::min(least, counters_[places[row]]);
    }
    return least;
  }

  std::vector<std::uint8_t> counters_;
  std::size_t mask_;
  std::int64_t sample_;
  std::int64_t added_ = 0;
};

}  // namespace refrain
