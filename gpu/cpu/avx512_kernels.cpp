// The bf16 precision's kernels beside its linear layers. Attention is two matrix products per KV
// head, of the same shape: rows of A (queries of all heads of the group, then their weights) in
// bf16 against panels of 32 columns of B (32 keys, then 32 dimensions of the values), with pairs
// along the sum side by side, as the dot-product instruction wants them. Keys and values of a head
// are brought into panels once and serve all rows; the softmax sees whole rows, so nothing is
// rescaled.
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "gpu/cpu/avx512.hpp"
#include "gpu/cpu/kernels.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t panel_columns = 32;
constexpr int tile_rows = 8;

REFRAIN_AVX512 inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= lanes ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

/// e^x by a polynomial on [-ln 2 / 2, ln 2 / 2]; relative error below 2e-7 where e^x is a normal
/// number.
REFRAIN_AVX512 inline __m512 exponential(__m512 x) {
  x = _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(88.3F)), _mm512_set1_ps(-103));
  __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)),
                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4F);
  for (float c :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 0.5F, 1.0F, 1.0F}) {
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
  }
  return _mm512_scalef_ps(p, n);
}

REFRAIN_AVX512 void rms_norm(const float* x, std::int64_t rows, std::int64_t size,
                             const float* weight, float epsilon, float* out) {
  for (std::int64_t row = 0; row < rows; ++row, x += size, out += size) {
    __m512 sum = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < size; i += lanes) {
      __m512 v = _mm512_maskz_loadu_ps(first_lanes(size - i), x + i);
      sum = _mm512_fmadd_ps(v, v, sum);
    }
    float mean = _mm512_reduce_add_ps(sum) / static_cast<float>(size);
    __m512 scale = _mm512_set1_ps(1 / std::sqrt(mean + epsilon));
    for (std::int64_t i = 0; i < size; i += lanes) {
      __mmask16 mask = first_lanes(size - i);
      __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i), scale);
      _mm512_mask_storeu_ps(out + i, mask,
                            _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, weight + i)));
    }
  }
}

REFRAIN_AVX512 void gate(const float* gate_and_up, std::int64_t rows, std::int64_t size,
                         float* out) {
  const __m512 one = _mm512_set1_ps(1);
  for (std::int64_t row = 0; row < rows; ++row, gate_and_up += 2 * size, out += size) {
    for (std::int64_t i = 0; i < size; i += lanes) {
      __mmask16 mask = first_lanes(size - i);
      __m512 g = _mm512_maskz_loadu_ps(mask, gate_and_up + i);
      __m512 u = _mm512_maskz_loadu_ps(mask, gate_and_up + size + i);
      __m512 below = _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), g)));
      _mm512_mask_storeu_ps(out + i, mask, _mm512_div_ps(_mm512_mul_ps(g, u), below));
    }
  }
}

REFRAIN_AVX512 void rotate(float* head, const rotation* angles, std::int64_t rotary_size,
                           bool adjacent_pairs) {
  if (!adjacent_pairs) {
    reference_kernels().rotate(head, angles, rotary_size, false);
    return;
  }
  static_assert(sizeof(rotation) == 2 * sizeof(float));
  for (std::int64_t i = 0; i < rotary_size; i += lanes) {
    __mmask16 mask = first_lanes(rotary_size - i);
    __m512 x = _mm512_maskz_loadu_ps(mask, head + i);
    __m512 turn = _mm512_maskz_loadu_ps(mask, reinterpret_cast<const float*>(angles) + i);
    __m512 swapped = _mm512_permute_ps(x, 0xB1);
    __m512 turned = _mm512_fmaddsub_ps(x, _mm512_moveldup_ps(turn),
                                       _mm512_mul_ps(swapped, _mm512_movehdup_ps(turn)));
    _mm512_mask_storeu_ps(head + i, mask, turned);
  }
}

void store(const float* row, std::int64_t size, kv_type type, std::byte* to) {
  REFRAIN_ASSERT(type == kv_type::bf16);
  to_bf16(row, size, reinterpret_cast<std::uint16_t*>(to));
}

/// C[Rows][32] = A[Rows][2 pairs] B, B a panel [pairs][32][2]; strides in elements.
template <int Rows>
REFRAIN_AVX512 void multiply(const std::uint16_t* a, std::int64_t a_stride,
                             const std::uint16_t* panel, std::int64_t pairs, float* c,
                             std::int64_t c_stride) {
  __m512 left[Rows], right[Rows];
  for (int r = 0; r < Rows; ++r) {
    left[r] = right[r] = _mm512_setzero_ps();
  }
  for (std::int64_t i = 0; i < pairs; ++i, panel += 2 * panel_columns) {
    auto b0 = reinterpret_cast<__m512bh>(_mm512_load_si512(panel));
    auto b1 = reinterpret_cast<__m512bh>(_mm512_load_si512(panel + panel_columns));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      std::int32_t two;
      std::memcpy(&two, a + r * a_stride + 2 * i, 4);
      auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
      left[r] = _mm512_dpbf16_ps(left[r], b0, both);
      right[r] = _mm512_dpbf16_ps(right[r], b1, both);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    _mm512_storeu_ps(c + r * c_stride, left[r]);
    _mm512_storeu_ps(c + r * c_stride + lanes, right[r]);
  }
}

REFRAIN_AVX512 void multiply(int rows, const std::uint16_t* a, std::int64_t a_stride,
                             const std::uint16_t* panel, std::int64_t pairs, float* c,
                             std::int64_t c_stride) {
  switch (rows) {
    case 1:
      return multiply<1>(a, a_stride, panel, pairs, c, c_stride);
    case 2:
      return multiply<2>(a, a_stride, panel, pairs, c, c_stride);
    case 3:
      return multiply<3>(a, a_stride, panel, pairs, c, c_stride);
    case 4:
      return multiply<4>(a, a_stride, panel, pairs, c, c_stride);
    case 5:
      return multiply<5>(a, a_stride, panel, pairs, c, c_stride);
    case 6:
      return multiply<6>(a, a_stride, panel, pairs, c, c_stride);
    case 7:
      return multiply<7>(a, a_stride, panel, pairs, c, c_stride);
    default:
      return multiply<8>(a, a_stride, panel, pairs, c, c_stride);
  }
}

/// Transposes 16 x 16 numbers of 32 bits.
REFRAIN_AVX512 inline void transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

/// Working memory that starts at a cache line and only grows.
template <class T>
class line_array {
 public:
  void resize(std::size_t count) {
    if (count > size_) {
      memory_.reset(static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64})));
      size_ = count;
    }
  }
  T* data() const { return memory_.get(); }

 private:
  struct release {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  std::unique_ptr<T, release> memory_;
  std::size_t size_ = 0;
};

/// The working memory of attention in one thread.
struct attention_memory {
  line_array<std::uint16_t> key_panels;    ///< [keys / 32][head_size / 2][32][2]
  line_array<std::uint16_t> value_panels;  ///< [head_size / 32][keys / 2][32][2]
  line_array<std::uint16_t> queries;       ///< [rows x group][head_size]
  line_array<float> scores;                ///< [tile_rows][keys]
  line_array<std::uint16_t> weights;       ///< the same after the softmax
};

/// Brings one KV head of a sequence into panels. Keys are counted up to whole panels; those past
/// the last one are zero.
class panel_packer {
 public:
  panel_packer(const kv_store& kv, std::int64_t layer, std::int64_t head,
               std::span<const block_id> blocks, std::int64_t keys, attention_memory& memory)
      : kv_{kv},
        layer_{layer},
        head_{head},
        blocks_{blocks},
        keys_{keys},
        padded_{(keys + panel_columns - 1) / panel_columns * panel_columns},
        size_{kv.layout().head_size},
        memory_{memory} {}

  REFRAIN_AVX512 void pack() {
    memory_.key_panels.resize(static_cast<std::size_t>(padded_ * size_));
    std::int64_t slices = (size_ + panel_columns - 1) / panel_columns;
    memory_.value_panels.resize(static_cast<std::size_t>(slices * panel_columns * padded_));
    for (std::int64_t key = 0; key < padded_; key += lanes) {
      pack_keys(key);
      pack_values(key);
    }
  }

 private:
  const std::uint16_t* row(std::byte* (kv_store::*tile)(block_id, std::int64_t, std::int64_t) const,
                           std::int64_t key) const {
    std::int64_t tokens = kv_.layout().block_tokens;
    std::byte* at = (kv_.*tile)(blocks_[static_cast<std::size_t>(key / tokens)], layer_, head_);
    return reinterpret_cast<const std::uint16_t*>(at) + key % tokens * size_;
  }

  /// 16 keys, turned so that a register holds one pair of dimensions of all of them.
  REFRAIN_AVX512 void pack_keys(std::int64_t key) {
    std::int64_t pairs = size_ / 2;
    std::uint16_t* panel = memory_.key_panels.data() + key / panel_columns * panel_columns * size_ +
                           key % panel_columns * 2;
    for (std::int64_t pair = 0; pair < pairs; pair += lanes) {
      __mmask16 mask = first_lanes(pairs - pair);
      __m512i rows[16];
      for (std::int64_t i = 0; i < lanes; ++i) {
        rows[i] = key + i < keys_
                      ? _mm512_maskz_loadu_epi32(mask, row(&kv_store::keys, key + i) + 2 * pair)
                      : _mm512_setzero_si512();
      }
      transpose(rows);
      for (std::int64_t i = 0; i < std::min(lanes, pairs - pair); ++i) {
        _mm512_store_si512(panel + (pair + i) * 2 * panel_columns, rows[i]);
      }
    }
  }

  /// 16 values, two and two side by side in each dimension.
  REFRAIN_AVX512 void pack_values(std::int64_t key) {
    for (std::int64_t slice = 0; slice * panel_columns < size_; ++slice) {
      std::int64_t left = size_ - slice * panel_columns;
      auto mask = static_cast<__mmask32>(left >= panel_columns ? ~0U : (1U << left) - 1);
      std::uint16_t* panel = memory_.value_panels.data() + slice * panel_columns * padded_;
      for (std::int64_t i = key; i < key + lanes; i += 2) {
        __m512i first = load_value(i, slice, mask);
        __m512i second = load_value(i + 1, slice, mask);
        const __m512i low =
            _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7,
                             38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
        const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
        _mm512_store_si512(panel + i * panel_columns,
                           _mm512_permutex2var_epi16(first, low, second));
        _mm512_store_si512(panel + (i + 1) * panel_columns,
                           _mm512_permutex2var_epi16(first, high, second));
      }
    }
  }

  REFRAIN_AVX512 __m512i load_value(std::int64_t key, std::int64_t slice, __mmask32 mask) const {
    return key < keys_
               ? _mm512_maskz_loadu_epi16(mask, row(&kv_store::values, key) + slice * panel_columns)
               : _mm512_setzero_si512();
  }

  const kv_store& kv_;
  std::int64_t layer_, head_;
  std::span<const block_id> blocks_;
  std::int64_t keys_, padded_, size_;
  attention_memory& memory_;
};

/// Softmax of scale x scores[0 .. keys) in bf16; zeros up to `padded`. Returns 1 / sum.
REFRAIN_AVX512 float soften(const float* scores, std::int64_t keys, std::int64_t padded,
                            float scale, std::uint16_t* weights) {
  __m512 largest = _mm512_set1_ps(-INFINITY);
  for (std::int64_t i = 0; i < keys; i += lanes) {
    __mmask16 mask = first_lanes(keys - i);
    largest = _mm512_mask_max_ps(largest, mask, largest, _mm512_loadu_ps(scores + i));
  }
  __m512 least = _mm512_set1_ps(-scale * _mm512_reduce_max_ps(largest));
  __m512 sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < padded; i += lanes) {
    __m512 power =
        exponential(_mm512_fmadd_ps(_mm512_loadu_ps(scores + i), _mm512_set1_ps(scale), least));
    power = _mm512_maskz_mov_ps(first_lanes(keys - i), power);
    sum = _mm512_add_ps(sum, power);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + i),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(power)));
  }
  return 1 / _mm512_reduce_add_ps(sum);
}

/// All rows of one sequence against one KV head in panels.
class head_attention {
 public:
  head_attention(const head_shape& heads, const attention_rows& rows, std::int64_t head,
                 attention_memory& memory)
      : heads_{heads},
        rows_{rows},
        head_{head},
        memory_{memory},
        group_{heads.heads / heads.kv_heads},
        size_{heads.head_size},
        padded_{round_up(rows.positions.back() + 1)} {
    memory.scores.resize(static_cast<std::size_t>(tile_rows * padded_));
    memory.weights.resize(static_cast<std::size_t>(tile_rows * padded_));
  }

  REFRAIN_AVX512 void run(const float* q, std::int64_t q_stride, float* out) {
    auto count = static_cast<std::int64_t>(rows_.positions.size()) * group_;
    memory_.queries.resize(static_cast<std::size_t>(count * size_));
    for (std::int64_t i = 0; i < count; ++i) {
      to_bf16(q + (rows_.first_row + i / group_) * q_stride + column(i), size_,
              memory_.queries.data() + i * size_);
    }
    for (std::int64_t i = 0; i < count; i += tile_rows) {
      tile(i, static_cast<int>(std::min<std::int64_t>(tile_rows, count - i)), out);
    }
  }

 private:
  static std::int64_t round_up(std::int64_t keys) {
    return (keys + panel_columns - 1) / panel_columns * panel_columns;
  }
  std::int64_t column(std::int64_t i) const { return (head_ * group_ + i % group_) * size_; }
  std::int64_t keys_of(std::int64_t i) const {
    return rows_.positions[static_cast<std::size_t>(i / group_)] + 1;
  }

  REFRAIN_AVX512 void tile(std::int64_t first, int rows, float* out) {
    std::int64_t padded = round_up(keys_of(first + rows - 1));
    for (std::int64_t key = 0; key < padded; key += panel_columns) {
      multiply(rows, memory_.queries.data() + first * size_, size_,
               memory_.key_panels.data() + key * size_, size_ / 2, memory_.scores.data() + key,
               padded_);
    }
    float inverse[tile_rows];
    for (int r = 0; r < rows; ++r) {
      inverse[r] =
          soften(memory_.scores.data() + r * padded_, keys_of(first + r), padded,
                 1 / std::sqrt(static_cast<float>(size_)), memory_.weights.data() + r * padded_);
    }
    float sums[tile_rows * panel_columns];
    for (std::int64_t dim = 0; dim < size_; dim += panel_columns) {
      multiply(rows, memory_.weights.data(), padded_, memory_.value_panels.data() + dim * padded_,
               padded / 2, sums, panel_columns);
      for (int r = 0; r < rows; ++r) {
        float* to = out + (rows_.first_row + (first + r) / group_) * heads_.heads * size_ +
                    column(first + r) + dim;
        for (std::int64_t half = 0; half < 2; ++half) {
          __m512 sum = _mm512_mul_ps(_mm512_loadu_ps(sums + r * panel_columns + half * lanes),
                                     _mm512_set1_ps(inverse[r]));
          _mm512_mask_storeu_ps(to + half * lanes, first_lanes(size_ - dim - half * lanes), sum);
        }
      }
    }
  }

  const head_shape& heads_;
  const attention_rows& rows_;
  std::int64_t head_;
  attention_memory& memory_;
  std::int64_t group_, size_, padded_;
};

void attention(const kv_store& kv, std::int64_t layer, const head_shape& heads,
               const attention_rows& rows, const float* q, std::int64_t q_stride, float* out) {
  REFRAIN_ASSERT(kv.layout().type == kv_type::bf16 && heads.head_size % 2 == 0);
  thread_local attention_memory memory;
  for (std::int64_t head = 0; head < heads.kv_heads; ++head) {
    panel_packer{kv, layer, head, rows.blocks, rows.positions.back() + 1, memory}.pack();
    head_attention{heads, rows, head, memory}.run(q, q_stride, out);
  }
}

}  // namespace

const decoder_kernels& avx512_kernels() {
  static const decoder_kernels kernels{rms_norm, gate, rotate, store, attention};
  return kernels;
}

}  // namespace refrain
