#include "gpu/model_files/encodings.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

constexpr std::array all_encodings{
    encoding{weight_type::f32, "F32", 1, 4},       encoding{weight_type::f16, "F16", 1, 2},
    encoding{weight_type::q4_0, "Q4_0", 32, 18},   encoding{weight_type::q4_1, "Q4_1", 32, 20},
    encoding{weight_type::q5_0, "Q5_0", 32, 22},   encoding{weight_type::q8_0, "Q8_0", 32, 34},
    encoding{weight_type::q4_k, "Q4_K", 256, 144}, encoding{weight_type::q6_k, "Q6_K", 256, 210},
    encoding{weight_type::bf16, "BF16", 1, 2},
};

template <class Value>
Value read(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float read_half(const std::byte* at) {
  return half_to_float(read<std::uint16_t>(at));
}

int low(std::byte b) {
  return std::to_integer<int>(b & std::byte{15});
}
int high(std::byte b) {
  return std::to_integer<int>(b >> 4);
}

// Each reads weights 32 x `part` to 32 x `part` + 31 of a block.

template <int HeaderBytes>
void read_nibbles(const std::byte* block, quantised_block& out) {
  for (std::size_t i = 0; i < 16; ++i) {
    out.weights[i] = static_cast<std::uint8_t>(low(block[HeaderBytes + i]));
    out.weights[i + 16] = static_cast<std::uint8_t>(high(block[HeaderBytes + i]));
  }
}

void read_q4_0(const std::byte* block, int, quantised_block& out) {
  read_nibbles<2>(block, out);
  out.scales.fill(read_half(block));
  out.offset = -8;
}

void read_q4_1(const std::byte* block, int, quantised_block& out) {
  read_nibbles<4>(block, out);
  out.scales.fill(read_half(block));
  out.least.fill(read_half(block + 2));
}

void read_q5_0(const std::byte* block, int, quantised_block& out) {
  read_nibbles<6>(block, out);
  auto fifth = read<std::uint32_t>(block + 2);
  for (std::size_t i = 0; i < 32; ++i) {
    out.weights[i] = static_cast<std::uint8_t>(out.weights[i] | (fifth >> i & 1) << 4);
  }
  out.scales.fill(read_half(block));
  out.offset = -16;
}

void read_q8_0(const std::byte* block, int, quantised_block& out) {
  for (std::size_t i = 0; i < 32; ++i) {
    out.weights[i] = std::to_integer<std::uint8_t>(block[2 + i] ^ std::byte{128});
  }
  out.scales.fill(read_half(block));
  out.offset = -128;
}

// Scales and minima of 8 groups, 6 bits each, in 12 bytes: the first four of either in the low bits
// of bytes 0-3 and 4-7, whose top bits, with the nibbles of bytes 8-11, make the last four.
void read_q4_k(const std::byte* block, int part, quantised_block& out) {
  const std::byte* packed = block + 4;
  auto byte = [&](int i) { return std::to_integer<int>(packed[i]); };
  bool first = part < 4;
  int scale = first ? byte(part) & 63 : low(packed[part + 4]) | byte(part - 4) >> 6 << 4;
  int least = first ? byte(part + 4) & 63 : high(packed[part + 4]) | byte(part) >> 6 << 4;
  out.scales.fill(read_half(block) * static_cast<float>(scale));
  out.least.fill(-(read_half(block + 2) * static_cast<float>(least)));
  const std::byte* nibbles = block + 16 + 32 * (part / 2);
  for (std::size_t i = 0; i < 32; ++i) {
    int weight = part % 2 == 0 ? low(nibbles[i]) : high(nibbles[i]);
    out.weights[i] = static_cast<std::uint8_t>(weight);
  }
}

void read_q6_k(const std::byte* block, int part, quantised_block& out) {
  int half = part / 4;
  int quarter = part % 4;
  for (int i = 0; i < 32; ++i) {
    std::byte nibbles = block[64 * half + 32 * (quarter % 2) + i];
    int top = std::to_integer<int>(block[128 + 32 * half + i]) >> (2 * quarter) & 3;
    int weight = (quarter < 2 ? low(nibbles) : high(nibbles)) | top << 4;
    out.weights[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(weight);
  }
  for (int i = 0; i < 2; ++i) {
    auto scale = std::to_integer<std::int8_t>(block[192 + 2 * part + i]);
    out.scales[static_cast<std::size_t>(i)] = read_half(block + 208) * static_cast<float>(scale);
  }
  out.offset = -32;
}

using block_reader = void (*)(const std::byte*, int, quantised_block&);

/// The reader of a quantised encoding; null for floats.
block_reader reader_of(weight_type type) {
  switch (type) {
    case weight_type::f32:
    case weight_type::f16:
    case weight_type::bf16:
      return nullptr;
    case weight_type::q4_0:
      return read_q4_0;
    case weight_type::q4_1:
      return read_q4_1;
    case weight_type::q5_0:
      return read_q5_0;
    case weight_type::q8_0:
      return read_q8_0;
    case weight_type::q4_k:
      return read_q4_k;
    case weight_type::q6_k:
      return read_q6_k;
  }
  REFRAIN_ASSERT(false);
}

float read_float(weight_type type, const std::byte* at) {
  if (type == weight_type::f32) {
    return read<float>(at);
  }
  auto half = read<std::uint16_t>(at);
  return type == weight_type::f16 ? half_to_float(half)
                                  : std::bit_cast<float>(std::uint32_t{half} << 16);
}

}  // namespace

std::span<const encoding> encodings() {
  return all_encodings;
}

const encoding* find_encoding(std::uint32_t number) {
  for (const encoding& each : all_encodings) {
    if (static_cast<std::uint32_t>(each.type) == number) {
      return &each;
    }
  }
  return nullptr;
}

const encoding& encoding_of(weight_type type) {
  const encoding* found = find_encoding(static_cast<std::uint32_t>(type));
  REFRAIN_ASSERT(found != nullptr);
  return *found;
}

std::int64_t row_bytes(weight_type type, std::int64_t columns) {
  const encoding& code = encoding_of(type);
  REFRAIN_ASSERT(columns >= 0 && columns % code.block_weights == 0);
  return columns / code.block_weights * code.block_bytes;
}

std::span<const std::byte> row_of(const weight_matrix& matrix, std::int64_t row) {
  REFRAIN_ASSERT(row >= 0 && row < matrix.rows);
  auto size = static_cast<std::size_t>(row_bytes(matrix.type, matrix.columns));
  return matrix.bytes.subspan(static_cast<std::size_t>(row) * size, size);
}

bool is_quantised(weight_type type) {
  return reader_of(type) != nullptr;
}

quantised_block read_block(weight_type type, std::span<const std::byte> row, std::int64_t index) {
  const encoding& code = encoding_of(type);
  std::int64_t parts = code.block_weights / 32;
  quantised_block out;
  reader_of(type)(row.data() + index / parts * code.block_bytes, static_cast<int>(index % parts),
                  out);
  return out;
}

void dequantise(weight_type type, std::span<const std::byte> row, std::span<float> out) {
  auto columns = static_cast<std::int64_t>(out.size());
  REFRAIN_ASSERT(static_cast<std::int64_t>(row.size()) == row_bytes(type, columns));
  if (!is_quantised(type)) {
    const std::size_t size = row.size() / out.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = read_float(type, row.data() + i * size);
    }
    return;
  }
  for (std::size_t i = 0; i < out.size(); i += 32) {
    quantised_block block = read_block(type, row, static_cast<std::int64_t>(i / 32));
    for (std::size_t j = 0; j < 32; ++j) {
      auto weight = static_cast<float>(block.weights[j] + block.offset);
      out[i + j] = block.scales[j / 16] * weight + block.least[j / 16];
    }
  }
}

float half_to_float(std::uint16_t bits) {
  std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
  std::uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00) {  // infinity and what is not a number
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
  }
  // Read with an exponent too small by 112 and set right by an exact product, which also serves the
  // subnormal ones.
  float value = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

}  // namespace refrain
