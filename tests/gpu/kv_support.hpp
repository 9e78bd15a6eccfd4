// What the tests of KV share: stores with known contents, and numbers read from them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "gpu/kv_run.hpp"
#include "traces/random.hpp"

namespace refrain {

/// Ids first .. first + count - 1, each `stride` apart.
inline std::vector<block_id> block_ids(std::uint32_t first, std::size_t count, int stride = 1) {
  std::vector<block_id> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(block_id{static_cast<std::uint32_t>(first + i * static_cast<unsigned>(stride))});
  }
  return out;
}

inline std::vector<std::byte> bytes_of_store(const kv_store& kv) {
  std::vector<std::byte> out;
  for (std::int64_t i = 0; i < kv.blocks(); ++i) {
    auto block = kv.block(block_id{static_cast<std::uint32_t>(i)});
    out.insert(out.end(), block.begin(), block.end());
  }
  return out;
}

/// Every byte drawn, in all blocks.
inline void fill_bytes(kv_store& kv, std::uint64_t seed) {
  random_stream random{seed, "kv bytes"};
  for (std::int64_t i = 0; i < kv.blocks(); ++i) {
    for (std::byte& each : kv.block(block_id{static_cast<std::uint32_t>(i)})) {
      each = static_cast<std::byte>(random.next());
    }
  }
}

/// One key (part 0) or value (part 1) of a token.
inline std::byte* row_at(const kv_store& kv, kv_place place, std::int64_t layer, int part,
                         std::int64_t head) {
  const kv_layout& layout = kv.layout();
  std::byte* tile =
      part == 0 ? kv.keys(place.block, layer, head) : kv.values(place.block, layer, head);
  return tile + place.slot * layout.head_size * layout.element_bytes();
}

inline std::vector<float> numbers_at(const kv_store& kv, kv_place place, std::int64_t layer,
                                     int part, std::int64_t head) {
  const std::byte* row = row_at(kv, place, layer, part, head);
  std::vector<float> out(static_cast<std::size_t>(kv.layout().head_size));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (kv.layout().type == kv_type::fp32) {
      std::memcpy(&out[i], row + 4 * i, 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, row + 2 * i, 2);
      out[i] = std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
  }
  return out;
}

/// bf16 by rounding in double: the nearest multiple of the last place, ties to even.
inline float nearest_bf16(double value) {
  if (value == 0) {
    return 0;
  }
  double place = std::ldexp(1.0, std::ilogb(value) - 7);
  return static_cast<float>(std::nearbyint(value / place) * place);
}

inline void write_numbers(kv_store& kv, kv_place place, std::int64_t layer, int part,
                          std::int64_t head, std::span<const double> numbers) {
  std::byte* row = row_at(kv, place, layer, part, head);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (kv.layout().type == kv_type::fp32) {
      auto value = static_cast<float>(numbers[i]);
      std::memcpy(row + 4 * i, &value, 4);
    } else {
      auto bits =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(nearest_bf16(numbers[i])) >> 16);
      std::memcpy(row + 2 * i, &bits, 2);
    }
  }
}

/// Calls `check(layer, part, head)` for all rows of one token.
template <class Check>
void for_each_row(const kv_layout& layout, Check check) {
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    for (int part : {0, 1}) {
      for (std::int64_t head = 0; head < layout.kv_heads; ++head) {
        check(layer, part, head);
      }
    }
  }
}

}  // namespace refrain
