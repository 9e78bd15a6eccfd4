// Reading stacked weight matrices row by row: what each kind of linear layer packs from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/cpu/linear.hpp"
#include "gpu/model_files/encodings.hpp"
#include "traces/error.hpp"

namespace refrain {

/// Outputs of all matrices together; all have the same columns.
inline std::int64_t stacked_rows(stacked_weights weights) {
  std::int64_t rows = 0;
  for (const weight_matrix& matrix : weights) {
    REFRAIN_ASSERT(matrix.columns == weights.front().columns);
    rows += matrix.rows;
  }
  return rows;
}

/// Calls `take(row, bytes, type)` for every row in turn; rows count through all matrices.
template <class Take>
void each_stacked_row(stacked_weights weights, Take take) {
  std::int64_t row = 0;
  for (const weight_matrix& matrix : weights) {
    for (std::int64_t i = 0; i < matrix.rows; ++i, ++row) {
      take(row, row_of(matrix, i), matrix.type);
    }
  }
}

/// Calls `take(row, values)` for every row in turn, as floats.
template <class Take>
void dequantise_stacked(stacked_weights weights, Take take) {
  std::vector<float> values(static_cast<std::size_t>(weights.front().columns));
  each_stacked_row(weights,
                   [&](std::int64_t row, std::span<const std::byte> bytes, weight_type type) {
                     dequantise(type, bytes, values);
                     take(row, std::span<const float>{values});
                   });
}

}  // namespace refrain
