#include "traces/quantiles.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "traces/quantity.hpp"

namespace refrain {

namespace {

[[noreturn]] void refuse(const std::string& what_is_wrong) {
  throw std::invalid_argument{what_is_wrong +
                              "; expected quantiles such as \"p0:1,p50:20,p99:400,p100:900\""};
}

double parse_number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse("\"" + std::string{text} + "\" is not a number");
  }
  return value;
}

double parse_seconds(std::string_view text) {
  return to_seconds(parse_duration(text));
}

std::string_view trimmed(std::string_view text) {
  std::size_t begin = text.find_first_not_of(' ');
  std::size_t end = text.find_last_not_of(' ');
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

quantile_table parse(std::string_view text, double (*parse_value)(std::string_view)) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view point = trimmed(text.substr(begin, end - begin));
    std::size_t colon = point.find(':');
    if (!point.starts_with('p') || colon == std::string_view::npos) {
      refuse("\"" + std::string{point} + "\" is no quantile");
    }
    points.emplace_back(parse_number(point.substr(1, colon - 1)) / 100,
                        parse_value(trimmed(point.substr(colon + 1))));
    begin = end + 1;
  }
  return quantile_table{std::move(points)};
}

/// The shortest text that reads as the same number.
std::string printed(double value) {
  std::array<char, 32> text;
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace

quantile_table::quantile_table(std::vector<std::pair<double, double>> points)
    : points_{std::move(points)} {
  if (points_.size() < 2 || points_.front().first != 0 || points_.back().first != 1) {
    refuse("the quantiles do not go from p0 to p100");
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!std::isfinite(points_[i].second)) {
      refuse("a quantile is not finite");
    }
    if (i > 0 && !(points_[i].first > points_[i - 1].first)) {
      refuse("the percentages do not rise");
    }
    if (i > 0 && points_[i].second < points_[i - 1].second) {
      refuse("the values fall");
    }
  }
}

double quantile_table::at(double share) const {
  auto above = std::upper_bound(points_.begin() + 1, points_.end() - 1, share,
                                [](double s, const auto& point) { return s < point.first; });
  auto below = above - 1;
  double part = (share - below->first) / (above->first - below->first);
  return below->second + std::clamp(part, 0.0, 1.0) * (above->second - below->second);
}

double quantile_table::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    sum +=
        (points_[i].first - points_[i - 1].first) * (points_[i].second + points_[i - 1].second) / 2;
  }
  return sum;
}

std::string quantile_table::text() const {
  std::string text;
  for (auto [share, value] : points_) {
    text += (text.empty() ? "p" : ",p") + printed(std::round(share * 1e10) / 1e8) + ":" +
            printed(value);
  }
  return text;
}

quantile_table parse_quantiles(std::string_view text) {
  return parse(text, parse_number);
}

quantile_table parse_time_quantiles(std::string_view text) {
  return parse(text, parse_seconds);
}

}  // namespace refrain
