// Zipf's law: how popular prompts, documents and questions are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "traces/random.hpp"

namespace refrain {

/// Draws 0 .. count - 1, i with weight (i + 1)^-exponent.
class zipf {
 public:
  zipf(std::uint32_t count, double exponent) {
    double sum = 0;
    sums_.reserve(count);
    for (std::uint32_t i = 1; i <= count; ++i) {
      sums_.push_back(sum += std::pow(i, -exponent));
    }
  }

  std::uint32_t draw(random_stream& random) const {
    auto found = std::upper_bound(sums_.begin(), sums_.end(), random.uniform() * sums_.back());
    auto at = static_cast<std::uint32_t>(found - sums_.begin());
    return std::min(at, static_cast<std::uint32_t>(sums_.size() - 1));
  }

 private:
  std::vector<double> sums_;
};

}  // namespace refrain
