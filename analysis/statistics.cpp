// Means and quantiles.
#include "analysis/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/error.hpp"

namespace refrain {

double between(double a, double b, double t) {
  // numpy interpolates from the nearer neighbour, which decides the last bit.
  double gap = b - a;
  return t < 0.5 ? a + gap * t : b - gap * (1 - t);
}

double quantile(std::span<const double> sorted, double q) {
  REFRAIN_ASSERT(q >= 0 && q <= 1);
  if (sorted.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double at = q * static_cast<double>(sorted.size() - 1);
  double whole = std::floor(at);
  auto i = static_cast<std::size_t>(whole);
  if (i + 1 >= sorted.size()) {
    return sorted.back();
  }
  return between(sorted[i], sorted[i + 1], at - whole);
}

void exact_adder::add(double value) {
  double next = sum_ + value;
  lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - next) + value : (value - next) + sum_;
  sum_ = next;
}

double exact_sum(std::span<const double> values) {
  exact_adder adder;
  for (double value : values) {
    adder.add(value);
  }
  return adder.total();
}

distribution summarise(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::ranges::sort(values);
  auto count = static_cast<std::int64_t>(values.size());
  double mean = count == 0 ? std::numeric_limits<double>::quiet_NaN()
                           : exact_sum(values) / static_cast<double>(count);
  return {mean, quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99), count};
}

}  // namespace refrain
