// Encodings of weights in model files: sizes, names, and the reading of a row as numbers. Blocks of
// 32 or 256 weights share scales; layouts are those of GGUF files (ggml, MIT), written anew from
// their description. This is the plain way; engines have faster ones of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/weights.hpp"

namespace refrain {

/// One encoding: `block_weights` weights in `block_bytes` bytes.
struct encoding {
  weight_type type;
  std::string_view name;  ///< as the field writes it: Q4_K
  std::int64_t block_weights;
  std::int64_t block_bytes;
};

/// All encodings that can be read, in the order of their numbers.
std::span<const encoding> encodings();
/// The encoding with that number in a file, or nothing.
const encoding* find_encoding(std::uint32_t number);
/// The encoding of `type`.
const encoding& encoding_of(weight_type type);
/// Bytes of a row of `columns` weights; columns are whole blocks.
std::int64_t row_bytes(weight_type type, std::int64_t columns);
/// The bytes of one row of a matrix.
std::span<const std::byte> row_of(const weight_matrix& matrix, std::int64_t row);

/// Whether weights of that encoding are small integers with scales.
bool is_quantised(weight_type type);

/// 32 quantised weights: scale x (weight + offset) + least. The first 16 take the first scale and
/// least value, the others the second.
struct quantised_block {
  std::array<std::uint8_t, 32> weights{};
  std::array<float, 2> scales{};
  std::array<float, 2> least{};
  int offset = 0;
};

/// Weights 32 x `index` to 32 x `index` + 31 of a row in a quantised encoding.
quantised_block read_block(weight_type type, std::span<const std::byte> row, std::int64_t index);

/// Reads a row of out.size() weights, whole blocks, from exactly row_bytes(type, out.size()) bytes,
/// with the rounding of one fp32 operation after the other.
void dequantise(weight_type type, std::span<const std::byte> row, std::span<float> out);

/// The value of IEEE half precision bits, exact.
float half_to_float(std::uint16_t bits);

}  // namespace refrain
