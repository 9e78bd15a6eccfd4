// Linear layers in fp32 by Eigen: the reference that the fast ones are compared with. Compiled for
// the oldest x86-64 there is and without fused multiply-add, it gives the same bits on all of them.
#include <Eigen/Core>
#include <algorithm>
#include <mutex>
#include <vector>

#include "gpu/cpu/linear.hpp"
#include "gpu/cpu/stacked.hpp"

namespace refrain {
namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Eigen multiplies four rows at a time, and those left over (as a single one) in ways of their own
// with sums in another order.
constexpr std::int64_t rows_together = 4;

/// How Eigen cuts long sums depends on the size of the first-level cache, so one is chosen for all
/// CPUs.
void fix_order_of_sums() {
  constexpr std::ptrdiff_t first_level = 32 << 10;
  static std::mutex mutex;
  std::lock_guard lock{mutex};
  if (Eigen::l1CacheSize() != first_level) {
    Eigen::setCpuCacheSizes(first_level, Eigen::l2CacheSize(), Eigen::l3CacheSize());
  }
}

class eigen_linear final : public linear {
 public:
  explicit eigen_linear(stacked_weights weights)
      : weights_(stacked_rows(weights), weights.front().columns) {
    fix_order_of_sums();
    dequantise_stacked(weights, [this](std::int64_t row, std::span<const float> values) {
      std::ranges::copy(values, weights_.row(row).data());
    });
  }

  void forward(const float* x, std::int64_t rows, float* y) override {
    Eigen::Map<const matrix> input{x, rows, weights_.cols()};
    Eigen::Map<matrix> output{y, rows, weights_.rows()};
    if (rows % rows_together == 0) {
      output.noalias() = input * weights_.transpose();
      return;
    }
    padded_.setZero((rows / rows_together + 1) * rows_together, weights_.cols());
    padded_.topRows(rows) = input;
    outputs_.noalias() = padded_ * weights_.transpose();
    output = outputs_.topRows(rows);
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
