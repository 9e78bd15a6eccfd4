// Weights that a file holds as floats, in bf16 for few rows: pairs of columns side by side, as the
// dot-product instruction wants them, [panel][columns / 2][16 outputs][2].
#include <cstring>
#include <vector>

#include "gpu/cpu/large_pages.hpp"
#include "gpu/cpu/panels.hpp"
#include "gpu/cpu/stacked.hpp"

namespace refrain {
namespace {

class bf16_panels final : public linear {
 public:
  bf16_panels(stacked_weights weights, std::pmr::memory_resource& memory)
      : given_columns_{weights.front().columns},
        columns_{(given_columns_ + 3) / 4 * 4},
        outputs_{stacked_rows(weights)},
        panels_{take_lines<std::uint16_t>(
            memory, static_cast<std::size_t>(panels_of(outputs_) * panel_outputs * columns_))} {
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(columns_));
    dequantise_stacked(weights, [&](std::int64_t row, std::span<const float> values) {
      to_bf16(values.data(), given_columns_, halves.data());
      std::uint16_t* panel = panels_.data() + row / panel_outputs * panel_outputs * columns_;
      for (std::int64_t k = 0; k < columns_; ++k) {
        panel[k / 2 * 2 * panel_outputs + row % panel_outputs * 2 + k % 2] =
            halves[static_cast<std::size_t>(k)];
      }
    });
  }

  void forward(const float* x, std::int64_t rows, float* y) override {
    x_.assign(static_cast<std::size_t>(rows * columns_), 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      to_bf16(x + row * given_columns_, given_columns_, x_.data() + row * columns_);
    }
    multiply_panels(*this, rows, outputs_, y);
  }

  /// 16 outputs of `Rows` rows; even and odd pairs apart, which halves the wait for a sum.
  template <int Rows>
  REFRAIN_AVX512 void product(std::int64_t panel, std::int64_t row, __m512 (&sums)[Rows]) const {
    __m512 odd[Rows];
    for (auto& sum : odd) {
      sum = _mm512_setzero_ps();
    }
    const std::uint16_t* weights = panels_.data() + panel * panel_outputs * columns_;
    for (std::int64_t k = 0; k < columns_; k += 4, weights += 4 * panel_outputs) {
      auto w = reinterpret_cast<__m512bh>(_mm512_load_si512(weights));
      auto v = reinterpret_cast<__m512bh>(_mm512_load_si512(weights + 2 * panel_outputs));
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        std::int32_t two[2];
        std::memcpy(two, x_.data() + (row + r) * columns_ + k, 8);
        sums[r] =
            _mm512_dpbf16_ps(sums[r], w, reinterpret_cast<__m512bh>(_mm512_set1_epi32(two[0])));
        odd[r] = _mm512_dpbf16_ps(odd[r], v, reinterpret_cast<__m512bh>(_mm512_set1_epi32(two[1])));
      }
    }
    for (int r = 0; r < Rows; ++r) {
      sums[r] = _mm512_add_ps(sums[r], odd[r]);
    }
  }

 private:
  std::int64_t given_columns_, columns_, outputs_;
  std::span<std::uint16_t> panels_;
  std::vector<std::uint16_t> x_;
};

}  // namespace

std::unique_ptr<linear> make_bf16_panels(stacked_weights weights,
                                         std::pmr::memory_resource& memory) {
  return std::make_unique<bf16_panels>(weights, memory);
}

}  // namespace refrain
