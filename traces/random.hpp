// Chance: one splitmix64 stream per purpose, derived from the run's seed and the purpose's name, so
// that two purposes never share draws and every contender sees the same ones. The generator is
// Steele, Lea and Flood's (OOPSLA 2014). Standard distributions are not used: their results differ
// between libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace refrain {

/// The splitmix64 output function: a bijection on 64-bit integers.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Chains `value` onto `seed`: order matters.
constexpr std::uint64_t mix64(std::uint64_t seed, std::uint64_t value) {
  return mix64(seed * 0x9E3779B97F4A7C15u + mix64(value + 0x9E3779B97F4A7C15u));
}

/// A stream of random numbers for one purpose.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::string_view purpose) : state_{mix64(seed)} {
    for (char c : purpose) {
      state_ = mix64(state_, static_cast<unsigned char>(c));
    }
  }

  /// Uniform on all 64-bit integers.
  std::uint64_t next() { return mix64(state_ += 0x9E3779B97F4A7C15u); }
  /// Uniform on [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform on 0 .. bound - 1; bound at least 1. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(next()) * bound) >> 64);
  }
  /// Exponential with the given mean.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  /// Standard normal (Box-Muller, one of the pair).
  double normal() {
    double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  /// Log-normal with the given median and sigma of the logarithm.
  double log_normal(double median, double sigma) { return median * std::exp(sigma * normal()); }

 private:
  std::uint64_t state_;
};

}  // namespace refrain
