// The one sum that searching consists of. Eight partial sums in a fixed order: compilers turn them
// into vector code, and the result is the same in every build.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace refrain {

/// The scalar product of two vectors of one length.
inline float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t lanes = 8;
  std::array<float, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < a.size(); ++i) {
    sums[i % lanes] += a[i] * b[i];
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace refrain
