// A distribution given by some of its quantiles, as people measure them: "p0:1,p50:20,p100:900".
// Between two of them values are spread evenly, so tails beyond the last inner quantile are as long
// as the maximum says.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain {

/// Values at increasing shares from 0 to 1; an empty table stands for "not given".
class quantile_table {
 public:
  quantile_table() = default;
  /// Points (share, value), at least two, from share 0 to share 1, shares increasing, values not
  /// falling and finite. Throws std::invalid_argument saying what was expected.
  explicit quantile_table(std::vector<std::pair<double, double>> points);

  bool empty() const { return points_.empty(); }
  const std::vector<std::pair<double, double>>& points() const { return points_; }
  double least() const { return points_.front().second; }
  double most() const { return points_.back().second; }
  /// The value at a share of 0 to 1; linear between points.
  double at(double share) const;
  /// Mean of the distribution.
  double mean() const;
  /// "p0:1,p50:20,p100:900".
  std::string text() const;

 private:
  std::vector<std::pair<double, double>> points_;
};

/// Parses "p0:1,p50:20,p99.9:600,p100:900". Throws std::invalid_argument.
quantile_table parse_quantiles(std::string_view text);
/// The same with times for values ("p0:0,p50:20s,p100:1h"); values are seconds. Throws as above.
quantile_table parse_time_quantiles(std::string_view text);

}  // namespace refrain
