// Each kind of linear layer against a product in double precision of the weights as `dequantise`
// reads them, in every encoding.
#include "gpu/cpu/linear.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <memory_resource>

#include "decoder_support.hpp"
#include "gpu/cpu/large_pages.hpp"
#include "gpu/cpu/stacked.hpp"

namespace refrain {
namespace {

constexpr std::int64_t columns = 512;

/// y = x W^T and, for bounds, sum over k of |x| |W|.
struct exact_product {
  std::vector<double> y, magnitude;
};

exact_product multiply_exactly(stacked_weights weights, const std::vector<float>& x,
                               std::int64_t rows) {
  const std::int64_t outputs = stacked_rows(weights);
  exact_product out;
  out.y.resize(static_cast<std::size_t>(rows * outputs));
  out.magnitude.resize(out.y.size());
  dequantise_stacked(weights, [&](std::int64_t output, std::span<const float> values) {
    for (std::int64_t row = 0; row < rows; ++row) {
      auto at = static_cast<std::size_t>(row * outputs + output);
      for (std::size_t k = 0; k < values.size(); ++k) {
        double term = double{x[static_cast<std::size_t>(row) * values.size() + k]} * values[k];
        out.y[at] += term;
        out.magnitude[at] += std::abs(term);
      }
    }
  });
  return out;
}

std::vector<float> random_rows(std::int64_t rows, std::int64_t size) {
  random_stream random{static_cast<std::uint64_t>(rows), "activations"};
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows * size; ++i) {
    x.push_back(static_cast<float>(random.normal()));
  }
  return x;
}

struct layer_kind {
  std::string name;
  std::function<std::unique_ptr<linear>(stacked_weights, std::pmr::memory_resource&)> make;
  /// Allowed error of an output as a part of sum |x| |W|: half a unit of the coarsest rounding of
  /// one factor or both. Sums of 512 terms in fp32 are far more exact.
  double tolerance;
};

/// bf16 has 8 bits: each factor is off by 2^-9 at most.
constexpr double bf16_rounding = 2.1 / 512;

std::vector<layer_kind> kinds_here() {
  std::vector<layer_kind> kinds{
      {"Eigen", [](stacked_weights w, std::pmr::memory_resource&) { return make_eigen_linear(w); },
       1e-6},
      {"oneDNN fp32",
       [](stacked_weights w, std::pmr::memory_resource& m) {
         return make_onednn_linear(w, false, m);
       },
       1e-6}};
  if (avx512_features()) {
    kinds.push_back({"oneDNN bf16",
                     [](stacked_weights w, std::pmr::memory_resource& m) {
                       return make_onednn_linear(w, true, m);
                     },
                     bf16_rounding});
    // A block's activations are rounded to steps of largest / 127, some 2.5 / 127 here.
    kinds.push_back({"quantised", make_quantised_linear, 0.02});
    kinds.push_back({"bf16", make_bf16_linear, 0.02});
  }
  return kinds;
}

void expect_near_exact(const layer_kind& kind, stacked_weights weights) {
  std::pmr::monotonic_buffer_resource memory{&large_pages()};
  std::unique_ptr<linear> layer = kind.make(weights, memory);
  for (std::int64_t rows : {1, 3, 8, 9, 13, 200}) {
    SCOPED_TRACE(kind.name + ", " + std::to_string(rows) + " rows");
    std::vector<float> x = random_rows(rows, columns);
    exact_product exact = multiply_exactly(weights, x, rows);
    // One more, which must stay as it is.
    std::vector<float> y(exact.y.size() + 1, std::numeric_limits<float>::quiet_NaN());
    y.back() = 42;
    layer->forward(x.data(), rows, y.data());
    double worst = 0;
    for (std::size_t i = 0; i < exact.y.size(); ++i) {
      double error = std::abs(y[i] - exact.y[i]) / exact.magnitude[i];
      worst = error >= 0 ? std::max(worst, error) : INFINITY;
    }
    EXPECT_LE(worst, kind.tolerance);
    EXPECT_EQ(y.back(), 42);
  }
}

TEST(linear_layers, EveryKindIsNearTheExactProductInEveryEncoding) {
  for (const layer_kind& kind : kinds_here()) {
    for (const encoding& code : encodings()) {
      for (std::int64_t outputs : {5, 16, 37}) {
        SCOPED_TRACE(std::string{code.name} + ", " + std::to_string(outputs) + " outputs");
        weight_maker make{7};
        weight_matrix weights = make.matrix(code.type, outputs, columns);
        expect_near_exact(kind, {&weights, 1});
      }
    }
  }
}

TEST(linear_layers, MatricesOfDifferentEncodingsAreStacked) {
  weight_maker make{8};
  using enum weight_type;
  const std::vector<std::vector<weight_type>> stacks{
      {q4_1, q4_0, q4_1}, {q4_0, q4_k}, {q4_1, q6_k, q8_0}, {q8_0, q5_0}, {q4_0, f32}, {f16, bf16}};
  for (const layer_kind& kind : kinds_here()) {
    for (const std::vector<weight_type>& stack : stacks) {
      std::vector<weight_matrix> weights;
      for (weight_type type : stack) {
        SCOPED_TRACE(encoding_of(type).name);
        weights.push_back(make.matrix(type, 9 + 4 * std::ssize(weights), columns));
      }
      expect_near_exact(kind, weights);
    }
  }
}

TEST(linear_layers, QuantisedOnesErrByHalfAStepOfTheActivationsAtMost) {
  if (!avx512_features()) {
    GTEST_SKIP() << "this CPU lacks AVX-512 with VNNI and BF16";
  }
  constexpr std::int64_t rows = 20;
  constexpr std::size_t block = 32;
  for (const encoding& code : encodings()) {
    if (!is_quantised(code.type)) {
      continue;
    }
    SCOPED_TRACE(code.name);
    weight_maker make{9};
    const weight_matrix weights = make.matrix(code.type, 40, columns);
    std::vector<float> x = random_rows(rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) {  // blocks of very different size, one of zeros
      x[i] *= static_cast<float>(std::exp2(static_cast<double>(i / block % 7) * 3 - 9)) *
              (i / block == 3 ? 0.0F : 1.0F);
    }
    std::pmr::monotonic_buffer_resource memory{&large_pages()};
    std::vector<float> y(40 * rows);
    make_quantised_linear({&weights, 1}, memory)->forward(x.data(), rows, y.data());
    exact_product exact = multiply_exactly({&weights, 1}, x, rows);
    dequantise_stacked({&weights, 1}, [&](std::int64_t output, std::span<const float> values) {
      for (std::size_t row = 0; row < rows; ++row) {
        double bound = 0;
        for (std::size_t k = 0; k < values.size(); k += block) {
          double largest = 0;
          double weight = 0;
          for (std::size_t i = k; i < k + block; ++i) {
            largest = std::max(largest, std::abs(double{x[row * columns + i]}));
            weight += std::abs(double{values[i]});
          }
          bound += largest / 127 / 2 * weight;
        }
        auto at = row * 40 + static_cast<std::size_t>(output);
        // Beside it, sums in fp32 in which a weight's minimum may cancel most of the product.
        EXPECT_LE(std::abs(y[at] - exact.y[at]), bound + 1e-5 * exact.magnitude[at]);
      }
    });
  }
}

TEST(linear_layers, OneRowGivesTheSameBitsInAnyCompany) {
  // What batched decode relies on: Eigen always, quantised weights where all are quantised.
  std::vector<layer_kind> kinds = kinds_here();
  std::erase_if(kinds, [](const layer_kind& kind) {
    return kind.name != "Eigen" && kind.name != "quantised";
  });
  using enum weight_type;
  for (const layer_kind& kind : kinds) {
    for (weight_type type : {f32, q4_1, q6_k, q8_0}) {
      for (std::int64_t outputs : {5, 16, 21, 259}) {
        SCOPED_TRACE(kind.name + " " + std::string{encoding_of(type).name} + ", " +
                     std::to_string(outputs) + " outputs");
        weight_maker make{10};
        weight_matrix weights = make.matrix(type, outputs, columns);
        std::pmr::monotonic_buffer_resource memory{&large_pages()};
        std::unique_ptr<linear> layer = kind.make({&weights, 1}, memory);
        std::vector<float> x = random_rows(300, columns);
        std::vector<float> together(static_cast<std::size_t>(300 * outputs));
        layer->forward(x.data(), 300, together.data());
        for (std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 17, 100}) {
          std::vector<float> y(static_cast<std::size_t>(rows * outputs));
          layer->forward(x.data() + 40 * columns, rows, y.data());
          EXPECT_TRUE(std::ranges::equal(
              y, std::span{together}.subspan(static_cast<std::size_t>(40 * outputs), y.size())))
              << rows << " rows";
        }
      }
    }
  }
}

TEST(linear_layers, TheReferenceGivesTheSameBitsWhateverTheSizesOfCaches) {
  constexpr std::int64_t many_columns = 2048;
  weight_maker make{11};
  weight_matrix weights = make.matrix(weight_type::f32, 100, many_columns);
  std::vector<float> x = random_rows(50, many_columns);
  std::vector<std::vector<float>> products;
  for (std::ptrdiff_t first_level : {16, 32, 48, 128}) {
    Eigen::setCpuCacheSizes(first_level << 10, 1 << 20, 32 << 20);
    products.emplace_back(50 * 100);
    make_eigen_linear({&weights, 1})->forward(x.data(), 50, products.back().data());
    EXPECT_EQ(products.front(), products.back()) << first_level << " KiB";
  }
}

}  // namespace
}  // namespace refrain
