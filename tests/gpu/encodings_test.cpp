// Blocks of weights against the values that another program reads from the same bytes
// (reference_blocks.txt, written by reference_blocks.py with PyPI's `gguf`).
#include "gpu/model_files/encodings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

namespace refrain {
namespace {

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(encodings, random_blocks_read_as_the_reference_reads_them) {
  std::ifstream in{REFRAIN_SOURCE_DIR "/tests/gpu/reference_blocks.txt"};
  std::map<std::string_view, int> seen;
  std::string name, block_hex, values_hex;
  while (in >> name >> block_hex >> values_hex) {
    for (const encoding& each : encodings()) {
      if (each.name != name) {
        continue;
      }
      std::vector<std::byte> bytes = bytes_of_hex(values_hex);
      std::vector<float> expected(bytes.size() / sizeof(float));
      std::memcpy(expected.data(), bytes.data(), bytes.size());
      std::vector<float> values(expected.size());
      dequantise(each.type, bytes_of_hex(block_hex), values);
      EXPECT_EQ(values, expected) << name;
      ++seen[each.name];
    }
  }
  for (const encoding& each : encodings()) {
    EXPECT_EQ(seen[each.name], 2) << each.name;
  }
}

TEST(encodings, every_half_is_read_exactly) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    unsigned exponent = bits >> 10 & 31;
    unsigned fraction = bits & 1023;
    double expected = exponent == 0 ? std::ldexp(fraction, -24)
                                    : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    float value = half_to_float(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(std::signbit(value), bits >> 15 == 1);
    if (exponent == 31) {
      EXPECT_EQ(std::isinf(value), fraction == 0) << bits;
      EXPECT_EQ(std::isnan(value), fraction != 0) << bits;
    } else {
      EXPECT_EQ(std::abs(value), expected) << bits;
    }
  }
}

TEST(encodings, a_row_has_whole_blocks) {
  EXPECT_EQ(row_bytes(weight_type::q4_1, 576), 576 / 32 * 20);
  EXPECT_EQ(row_bytes(weight_type::q6_k, 512), 420);
  EXPECT_EQ(row_bytes(weight_type::bf16, 3), 6);
  EXPECT_DEATH(row_bytes(weight_type::q4_k, 576), "assertion failed");
}

}  // namespace
}  // namespace refrain
