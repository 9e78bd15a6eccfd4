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

// Each reads one block.

void read_f32(const std::byte* block, float* out) {
  *out = read<float>(block);
}

void read_f16(const std::byte* block, float* out) {
  *out = read_half(block);
}

void read_bf16(const std::byte* block, float* out) {
  *out = std::bit_cast<float>(std::uint32_t{read<std::uint16_t>(block)} << 16);
}

void read_q4_0(const std::byte* block, float* out) {
  float scale = read_half(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[2 + i]) - 8);
    out[i + 16] = scale * static_cast<float>(high(block[2 + i]) - 8);
  }
}

void read_q4_1(const std::byte* block, float* out) {
  float scale = read_half(block);
  float least = read_half(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[4 + i])) + least;
    out[i + 16] = scale * static_cast<float>(high(block[4 + i])) + least;
  }
}

void read_q5_0(const std::byte* block, float* out) {
  float scale = read_half(block);
  auto fifth = read<std::uint32_t>(block + 2);
  auto fifth_bit = [&](int i) { return static_cast<int>(fifth >> i & 1) << 4; };
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((low(block[6 + i]) | fifth_bit(i)) - 16);
    out[i + 16] = scale * static_cast<float>((high(block[6 + i]) | fifth_bit(i + 16)) - 16);
  }
}

void read_q8_0(const std::byte* block, float* out) {
  float scale = read_half(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(std::to_integer<std::int8_t>(block[2 + i]));
  }
}

// Scales and minima of 8 groups, 6 bits each, in 12 bytes: the first four of either in the low bits
// of bytes 0-3 and 4-7, whose top bits, with the nibbles of bytes 8-11, make the last four.
void read_q4_k(const std::byte* block, float* out) {
  float scale = read_half(block);
  float least = read_half(block + 2);
  const std::byte* packed = block + 4;
  auto byte = [&](int i) { return std::to_integer<int>(packed[i]); };
  for (int group = 0; group < 8; ++group) {
    bool first = group < 4;
    int group_scale = first ? byte(group) & 63 : low(packed[group + 4]) | byte(group - 4) >> 6 << 4;
    int group_least =
        first ? byte(group + 4) & 63 : high(packed[group + 4]) | byte(group) >> 6 << 4;
    float step = scale * static_cast<float>(group_scale);
    float minus = least * static_cast<float>(group_least);
    const std::byte* nibbles = block + 16 + 32 * (group / 2);
    for (int i = 0; i < 32; ++i) {
      int value = group % 2 == 0 ? low(nibbles[i]) : high(nibbles[i]);
      out[32 * group + i] = step * static_cast<float>(value) - minus;
    }
  }
}

void read_q6_k(const std::byte* block, float* out) {
  float scale = read_half(block + 208);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128;
    int quarter = i % 128 / 32;
    std::byte nibbles = block[64 * half + i % 64];
    int top = std::to_integer<int>(block[128 + 32 * half + i % 32]) >> (2 * quarter) & 3;
    int value = (quarter < 2 ? low(nibbles) : high(nibbles)) | top << 4;
    auto group_scale = static_cast<float>(std::to_integer<std::int8_t>(block[192 + i / 16]));
    out[i] = scale * group_scale * static_cast<float>(value - 32);
  }
}

using block_reader = void (*)(const std::byte*, float*);

block_reader reader_of(weight_type type) {
  switch (type) {
    case weight_type::f32:
      return read_f32;
    case weight_type::f16:
      return read_f16;
    case weight_type::bf16:
      return read_bf16;
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

void dequantise(weight_type type, std::span<const std::byte> row, std::span<float> out) {
  const encoding& code = encoding_of(type);
  auto columns = static_cast<std::int64_t>(out.size());
  REFRAIN_ASSERT(static_cast<std::int64_t>(row.size()) == row_bytes(type, columns));
  block_reader read_block = reader_of(type);
  const std::byte* block = row.data();
  for (std::int64_t i = 0; i < columns; i += code.block_weights) {
    read_block(block, out.data() + i);
    block += code.block_bytes;
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
