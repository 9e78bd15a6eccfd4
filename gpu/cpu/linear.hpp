// The linear layers of a decoder on the CPU, y = x W^T, behind one interface: Eigen in fp32 (the
// reference: the same bits on every x86-64 CPU), oneDNN in fp32 or bf16 with packed weights
// (prefill), and rows kept in the file's own quantisation (a few rows at a time, as decode has
// them, where reading the weights is what takes the time).
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>

#include "gpu/weights.hpp"

namespace refrain {

/// A product with constant weights. One object is used by one thread at a time.
class linear {
 public:
  virtual ~linear() = default;

  /// y[i][j] = sum over k of x[i][k] W[j][k], for `rows` (at least 1) rows. x is [rows][columns], y
  /// is [rows][outputs], both dense and apart from each other.
  virtual void forward(const float* x, std::int64_t rows, float* y) = 0;
};

/// Matrices of the same columns whose outputs stand side by side: q, k and v are one product.
using stacked_weights = std::span<const weight_matrix>;

/// Products in fp32 by Eigen: the order of each sum does not depend on the number of rows.
std::unique_ptr<linear> make_eigen_linear(stacked_weights weights);

/// Products by oneDNN, weights packed once, in bf16 (activations rounded to bf16, sums in fp32) or
/// fp32. Packed weights of this and the following are taken from `memory`, which outlives them.
std::unique_ptr<linear> make_onednn_linear(stacked_weights weights, bool bf16,
                                           std::pmr::memory_resource& memory);

/// Products that read weights as quantised as they come, 4 or 8 bits each, with activations rounded
/// to 8 bits with a scale per 32; weights that are floats are taken in bf16, as are activations
/// then. Requires avx512_features().
std::unique_ptr<linear> make_quantised_linear(stacked_weights weights,
                                              std::pmr::memory_resource& memory);

/// oneDNN in bf16 for many rows, quantised weights for few.
std::unique_ptr<linear> make_bf16_linear(stacked_weights weights,
                                         std::pmr::memory_resource& memory);

/// Whether this CPU has what the bf16 precision is written for: AVX-512 with BF16 and VNNI.
bool avx512_features();

}  // namespace refrain
