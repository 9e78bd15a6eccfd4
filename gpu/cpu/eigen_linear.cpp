// Linear layers in fp32 by Eigen: the reference that the fast ones are compared with. Compiled for
// the oldest x86-64 there is and without fused multiply-add, it gives the same bits on all of them.
#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "gpu/cpu/linear.hpp"
#include "gpu/cpu/stacked.hpp"

namespace refrain {
namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Eigen takes a path of its own, with sums in another order, for a single row.
constexpr std::int64_t rows_min = 2;

class eigen_linear final : public linear {
 public:
  explicit eigen_linear(stacked_weights weights)
      : weights_(stacked_rows(weights), weights.front().columns) {
    dequantise_stacked(weights, [this](std::int64_t row, std::span<const float> values) {
      std::ranges::copy(values, weights_.row(row).data());
    });
  }

  void forward(const float* x, std::int64_t rows, float* y) override {
    Eigen::Map<const matrix> input{x, rows, weights_.cols()};
    if (rows >= rows_min) {
      Eigen::Map<matrix>{y, rows, weights_.rows()}.noalias() = input * weights_.transpose();
      return;
    }
    padded_.setZero(rows_min, weights_.cols());
    padded_.topRows(rows) = input;
    outputs_.noalias() = padded_ * weights_.transpose();
    Eigen::Map<matrix>{y, rows, weights_.rows()} = outputs_.topRows(rows);
  }

 private:
  matrix weights_;
  matrix padded_, outputs_;
};

}  // namespace

std::unique_ptr<linear> make_eigen_linear(stacked_weights weights) {
  return std::make_unique<eigen_linear>(weights);
}

}  // namespace refrain
