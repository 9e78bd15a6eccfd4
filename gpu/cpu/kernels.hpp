// What a decoder computes beside its linear layers, in two sets: the reference (plain loops and
// Eigen, in fp32 on any CPU, every sum in one order whatever the batch) and AVX-512 for the bf16
// precision.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/kv_store.hpp"

namespace refrain {

/// New tokens of one sequence in a batch: which rows they are and what they attend to.
struct attention_rows {
  std::int64_t first_row;                   ///< their rows in the batch are consecutive
  std::span<const std::int64_t> positions;  ///< one a row, ascending; each sees keys 0 .. position
  std::span<const block_id> blocks;         ///< of the sequence, from position 0 on
};

/// Heads of a decoder.
struct head_shape {
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_size;
};

/// Cosine and sine of a row's angles.
struct rotation {
  float cosine;
  float sine;
};

/// One set of kernels. All matrices are row-major and dense.
struct decoder_kernels {
  /// out[row] = x[row] / sqrt(mean(x[row]^2) + epsilon) x weight.
  void (*rms_norm)(const float* x, std::int64_t rows, std::int64_t size, const float* weight,
                   float epsilon, float* out);
  /// out[row][i] = silu(g) u, from [rows][2][size] with g first.
  void (*gate)(const float* gate_and_up, std::int64_t rows, std::int64_t size, float* out);
  /// Rotates pairs of one head: `angles` [rotary_size / 2], adjacent pairs or halves.
  void (*rotate)(float* head, const rotation* angles, std::int64_t rotary_size,
                 bool adjacent_pairs);
  /// Stores a row of keys or values of one head.
  void (*store)(const float* row, std::int64_t size, kv_type type, std::byte* to);
  /// Attention of one sequence's rows in one layer: q and out are [rows of the batch][heads x
  /// head_size], scaled by 1 / sqrt(head_size). Keys and values of the rows are in the store.
  void (*attention)(const kv_store& kv, std::int64_t layer, const head_shape& heads,
                    const attention_rows& rows, const float* q, std::int64_t q_stride, float* out);
};

/// Kernels in fp32 that give the same bits on every x86-64 CPU; the store holds fp32.
const decoder_kernels& reference_kernels();
/// Kernels for avx512_features(); attention in bf16 with sums in fp32; the store holds bf16.
const decoder_kernels& avx512_kernels();

}  // namespace refrain
