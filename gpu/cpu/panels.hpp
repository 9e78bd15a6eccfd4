// Linear layers with 16 outputs in the lanes of a register, so that a sum never crosses lanes:
// weights are packed in panels of 16 outputs, and a panel meets a tile of rows at a time.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "gpu/cpu/avx512.hpp"
#include "gpu/cpu/linear.hpp"

namespace refrain {

/// Outputs in a panel; the last panel may have fewer.
inline constexpr std::int64_t panel_outputs = 16;

inline std::int64_t panels_of(std::int64_t outputs) {
  return (outputs + panel_outputs - 1) / panel_outputs;
}

/// Rows `row` to `end` against one panel, in tiles of `Rows`; returns the first row left.
template <int Rows, class Weights>
REFRAIN_AVX512 std::int64_t multiply_tiles(const Weights& weights, std::int64_t panel,
                                           std::int64_t row, std::int64_t end, std::int64_t outputs,
                                           float* y) {
  std::int64_t here = std::min(panel_outputs, outputs - panel * panel_outputs);
  auto mask = static_cast<__mmask16>((1U << here) - 1);
  for (; row + Rows <= end; row += Rows) {
    __m512 sums[Rows];
    for (auto& sum : sums) {
      sum = _mm512_setzero_ps();
    }
    weights.product(panel, row, sums);
    for (int r = 0; r < Rows; ++r) {
      _mm512_mask_storeu_ps(y + (row + r) * outputs + panel * panel_outputs, mask, sums[r]);
    }
  }
  return row;
}

/// All rows against all panels. `weights.product(panel, row, sums)` adds to 16 outputs of as many
/// rows as there are sums.
template <class Weights>
REFRAIN_AVX512 void multiply_panels(const Weights& weights, std::int64_t rows, std::int64_t outputs,
                                    float* y) {
  constexpr std::int64_t chunk = 192;  // rows whose activations stay in the second-level cache
  for (std::int64_t first = 0; first < rows; first += chunk) {
    std::int64_t end = std::min(rows, first + chunk);
    for (std::int64_t panel = 0; panel < panels_of(outputs); ++panel) {
      std::int64_t row = multiply_tiles<12>(weights, panel, first, end, outputs, y);
      row = multiply_tiles<4>(weights, panel, row, end, outputs, y);
      multiply_tiles<1>(weights, panel, row, end, outputs, y);
    }
  }
}

/// Weights that are floats, in bf16 panels.
std::unique_ptr<linear> make_bf16_panels(stacked_weights weights,
                                         std::pmr::memory_resource& memory);

}  // namespace refrain
