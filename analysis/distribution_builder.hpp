// The distribution of more numbers than memory should hold: they are sorted in runs of a fixed
// length, the runs wait in a temporary file, and one pass merges them. The result is that of
// `summarise`, to the last bit.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>

#include "analysis/statistics.hpp"

namespace refrain {

/// Takes numbers in any order and describes them at the end.
class distribution_builder {
 public:
  /// Numbers held in memory at once, at most.
  static constexpr std::size_t run_values_max = std::size_t{1} << 17;

  explicit distribution_builder(std::size_t run_values = run_values_max);

  /// Adds a number; nan is left out. Throws run_error where the temporary file cannot grow.
  void add(double value);
  /// Describes what was added; afterwards the builder is empty.
  distribution finish();

 private:
  using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  void spill();
  distribution merge();

  std::size_t run_values_;
  std::vector<double> values_;
  std::vector<std::size_t> runs_;  // lengths of those in the file, one behind the other
  file spilled_;
};

}  // namespace refrain
