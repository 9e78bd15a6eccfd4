// Statistics of one set of numbers: means and quantiles, defined so that anyone can repeat them
// with numpy. Comparisons between contenders need pairs and intervals and are not here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain {

/// Between a and b, the neighbours of a quantile, a share t (0 <= t < 1) of the way.
double between(double a, double b, double t);

/// The q-quantile (0 <= q <= 1) of ascending numbers, linear between neighbours, as numpy.quantile
/// has it by default; nan without numbers.
double quantile(std::span<const double> sorted, double q);

/// A sum with its rounding errors carried along (Neumaier 1974); depends on nothing but the numbers
/// and their order.
class exact_adder {
 public:
  void add(double value);
  double total() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

/// The sum of the numbers, as exact_adder has it.
double exact_sum(std::span<const double> values);

/// What is reported of a set of numbers; all nan when count is 0.
struct distribution {
  double mean;
  double p50;
  double p90;
  double p99;
  std::int64_t count;
};

/// Describes the numbers, leaving nans out; the mean is summed in ascending order.
distribution summarise(std::vector<double> values);

}  // namespace refrain
