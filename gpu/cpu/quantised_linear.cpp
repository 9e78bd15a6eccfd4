// Linear layers that read quantised weights. A panel holds 16 rows of weights: for each block of 32
// columns 8 groups of 4 columns (one multiply-add instruction each) and the 16 scales. Every
// encoding is read as value = d q + m with q of 4 or 8 bits, as stored; activations are rounded to
// 8 bits with a scale per 32:
//     y = sum over blocks of  d s sum(q x)  +  m s sum(x)        x the rounded activations, s their
//     scale
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/cpu/avx512.hpp"
#include "gpu/cpu/large_pages.hpp"
#include "gpu/cpu/linear.hpp"
#include "gpu/cpu/panels.hpp"
#include "gpu/cpu/stacked.hpp"

namespace refrain {
namespace {

constexpr std::int64_t lanes = panel_outputs;
constexpr std::int64_t block_columns = 32;

/// What is added to scale x weight.
float minimum(const quantised_block& block, std::size_t half) {
  return block.scales[half] * static_cast<float>(block.offset) + block.least[half];
}

REFRAIN_AVX512 std::uint16_t to_half(float value) {
  return static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

/// Activations in 8 bits.
struct rounded_rows {
  std::vector<std::int8_t> values;  ///< [rows][columns]
  std::vector<float> scales;        ///< [rows][columns / 32]
  std::vector<float> sums;          ///< [rows][columns / 32], scale x sum of the values
  std::vector<float> half_sums;     ///< [rows][columns / 16], the same of 16 columns each

  REFRAIN_AVX512 void round(const float* x, std::int64_t rows, std::int64_t columns);
};

REFRAIN_AVX512 void rounded_rows::round(const float* x, std::int64_t rows, std::int64_t columns) {
  auto count = static_cast<std::size_t>(rows * columns);
  values.resize(count);
  scales.resize(count / block_columns);
  sums.resize(count / block_columns);
  half_sums.resize(count / lanes);
  for (std::size_t i = 0; i < count; i += block_columns) {
    __m512 low = _mm512_loadu_ps(x + i);
    __m512 high = _mm512_loadu_ps(x + i + lanes);
    float largest = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    float inverse = largest > 0 ? 127 / largest : 0;
    __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(low, _mm512_set1_ps(inverse)));
    __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(high, _mm512_set1_ps(inverse)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(values.data() + i), _mm512_cvtsepi32_epi8(a));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(values.data() + i + lanes),
                     _mm512_cvtsepi32_epi8(b));
    float scale = largest / 127;
    scales[i / block_columns] = scale;
    float first = scale * static_cast<float>(_mm512_reduce_add_epi32(a));
    float second = scale * static_cast<float>(_mm512_reduce_add_epi32(b));
    half_sums[i / lanes] = first;
    half_sums[i / lanes + 1] = second;
    sums[i / block_columns] = first + second;
  }
}

/// Bytes of one block of a panel.
template <bool Nibbles, bool Halves>
struct block_layout {
  static constexpr bool nibbles = Nibbles;  ///< two weights a byte; else one
  static constexpr bool halves =
      Halves;  ///< one scale and minimum in fp16; else two of each in fp32
  static constexpr std::int64_t weight_bytes = lanes * block_columns / (Nibbles ? 2 : 1);
  static constexpr std::int64_t bytes = weight_bytes + lanes * (Halves ? 4 : 16);
};

/// The eight groups of four columns of a block, 16 rows each, as unsigned bytes.
template <class Layout>
REFRAIN_AVX512 inline void load_groups(const std::byte* block, __m512i (&groups)[8]) {
  if constexpr (Layout::nibbles) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int j = 0; j < 4; ++j) {
      __m512i both = _mm512_load_si512(block + 64 * j);
      groups[j] = _mm512_and_si512(both, mask);
      groups[j + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
    }
  } else {
    for (int j = 0; j < 8; ++j) {
      groups[j] = _mm512_load_si512(block + 64 * j);
    }
  }
}

/// sum(q x) of groups First .. First + Count - 1.
template <int First, int Count>
REFRAIN_AVX512 inline __m512 dot(const __m512i (&groups)[8], const std::int8_t* x) {
  __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (int j = First; j < First + Count; ++j) {
    std::int32_t four;
    std::memcpy(&four, x + 4 * j, 4);
    sum = _mm512_dpbusd_epi32(sum, groups[j], _mm512_set1_epi32(four));
  }
  return _mm512_cvtepi32_ps(sum);
}

/// Adds a block's part of 16 outputs of `Rows` rows; `scales` is the block's.
template <class Layout, int Rows>
REFRAIN_AVX512 inline void add_block(const std::byte* scales, const __m512i (&groups)[8],
                                     const rounded_rows& x, std::int64_t columns, std::int64_t row,
                                     std::int64_t block, __m512 (&sums)[Rows]) {
  const std::int64_t blocks = columns / block_columns;
  const std::int8_t* values = x.values.data() + row * columns + block * block_columns;
  const float* x_scales = x.scales.data() + row * blocks + block;
  if constexpr (Layout::halves) {
    const float* x_sums = x.sums.data() + row * blocks + block;
    __m512 d = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(scales)));
    __m512 m = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(scales + 32)));
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums[r] = _mm512_fmadd_ps(m, _mm512_set1_ps(x_sums[r * blocks]), sums[r]);
      __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(x_scales[r * blocks]));
      sums[r] = _mm512_fmadd_ps(scale, dot<0, 8>(groups, values + r * columns), sums[r]);
    }
  } else {
    const auto* d = reinterpret_cast<const float*>(scales);
    const float* x_sums = x.half_sums.data() + 2 * (row * blocks + block);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      __m512 scale = _mm512_set1_ps(x_scales[r * blocks]);
      const float* halves = x_sums + 2 * r * blocks;
      __m512 first = dot<0, 4>(groups, values + r * columns);
      __m512 second = dot<4, 4>(groups, values + r * columns);
      sums[r] = _mm512_fmadd_ps(_mm512_load_ps(d + 32), _mm512_set1_ps(halves[0]), sums[r]);
      sums[r] = _mm512_fmadd_ps(_mm512_load_ps(d + 48), _mm512_set1_ps(halves[1]), sums[r]);
      sums[r] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(d), scale), first, sums[r]);
      sums[r] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(d + 16), scale), second, sums[r]);
    }
  }
}

template <class Layout>
class quantised_linear final : public linear {
 public:
  quantised_linear(stacked_weights weights, std::pmr::memory_resource& memory)
      : columns_{weights.front().columns},
        outputs_{stacked_rows(weights)},
        panel_bytes_{columns_ / block_columns * Layout::bytes},
        panels_{take_lines<std::byte>(
            memory, static_cast<std::size_t>(panels_of(outputs_) * panel_bytes_))} {
    each_stacked_row(
        weights, [this](std::int64_t row, std::span<const std::byte> bytes, weight_type type) {
          std::byte* panel = panels_.data() + row / lanes * panel_bytes_;
          for (std::int64_t block = 0; block < columns_ / block_columns; ++block) {
            put(row % lanes, read_block(type, bytes, block), panel + block * Layout::bytes);
          }
        });
  }

  void forward(const float* x, std::int64_t rows, float* y) override {
    x_.round(x, rows, columns_);
    multiply_panels(*this, rows, outputs_, y);
  }

  /// 16 outputs of `Rows` rows.
  template <int Rows>
  REFRAIN_AVX512 void product(std::int64_t panel, std::int64_t row, __m512 (&sums)[Rows]) const {
    const std::byte* block = panels_.data() + panel * panel_bytes_;
    for (std::int64_t b = 0; b < columns_ / block_columns; ++b, block += Layout::bytes) {
      __m512i groups[8];
      load_groups<Layout>(block, groups);
      add_block<Layout>(block + Layout::weight_bytes, groups, x_, columns_, row, b, sums);
    }
  }

 private:
  static void put(std::int64_t lane, const quantised_block& block, std::byte* to) {
    for (int j = 0; j < 8; ++j) {
      for (int b = 0; b < 4; ++b) {
        int column = 4 * j + b;
        auto weight = std::byte{block.weights[static_cast<std::size_t>(column)]};
        if constexpr (Layout::nibbles) {
          to[64 * (j % 4) + 4 * lane + b] |= j < 4 ? weight : weight << 4;
        } else {
          to[64 * j + 4 * lane + b] = weight;
        }
      }
    }
    std::byte* scales = to + Layout::weight_bytes;
    if constexpr (Layout::halves) {
      std::uint16_t d = to_half(block.scales[0]), m = to_half(minimum(block, 0));
      std::memcpy(scales + 2 * lane, &d, 2);
      std::memcpy(scales + 32 + 2 * lane, &m, 2);
    } else {
      for (std::size_t half = 0; half < 2; ++half) {
        auto at = 64 * half + 4 * static_cast<std::size_t>(lane);
        float m = minimum(block, half);
        std::memcpy(scales + at, &block.scales[half], 4);
        std::memcpy(scales + 128 + at, &m, 4);
      }
    }
  }

  std::int64_t columns_, outputs_, panel_bytes_;
  std::span<std::byte> panels_;
  rounded_rows x_;
};

template <bool Nibbles, bool Halves>
std::unique_ptr<linear> make(stacked_weights weights, std::pmr::memory_resource& memory) {
  return std::make_unique<quantised_linear<block_layout<Nibbles, Halves>>>(weights, memory);
}

/// Whether every block's minimum is a number of half precision, as its scale is.
bool half_holds_minima(const weight_matrix& matrix) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t block = 0; block < matrix.columns / block_columns; ++block) {
      if (std::abs(minimum(read_block(matrix.type, row_of(matrix, row), block), 0)) > 65504) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<linear> make_quantised_linear(stacked_weights weights,
                                              std::pmr::memory_resource& memory) {
  REFRAIN_ASSERT(avx512_features());
  bool nibbles = true;
  bool halves = true;
  for (const weight_matrix& matrix : weights) {
    if (!is_quantised(matrix.type)) {
      return make_bf16_panels(weights, memory);
    }
    using enum weight_type;
    nibbles &= matrix.type == q4_0 || matrix.type == q4_1 || matrix.type == q4_k;
    halves &= matrix.type != q4_k && matrix.type != q6_k && half_holds_minima(matrix);
  }
  if (nibbles) {
    return halves ? make<true, true>(weights, memory) : make<true, false>(weights, memory);
  }
  return halves ? make<false, true>(weights, memory) : make<false, false>(weights, memory);
}

}  // namespace refrain
