// Means and quantiles.
#include "analysis/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/error.hpp"

namespace refrain {

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
  // numpy interpolates from the nearer neighbour, which decides the last bit.
  double t = at - whole;
  double gap = sorted[i + 1] - sorted[i];
  return t < 0.5 ? sorted[i] + gap * t : sorted[i + 1] - gap * (1 - t);
}

double exact_sum(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (double value : values) {
    double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return sum + lost;
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
