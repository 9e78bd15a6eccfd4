// Moments decide: a coefficient of variation near 1 and counts that vary no more than Poisson's are
// Poisson; counts over long windows that vary more than independent gaps explain are a rate that
// switches; other gaps are gamma. A trace of more than a day and a half whose rate follows the day
// is diurnal. The clock of a trace may tick so coarsely that most starts coincide; they are then
// spread evenly over the tick.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "traces/fit.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

constexpr double day = 86'400;
constexpr double window_gaps = 20;  // a window holds this many starts on average

void spread_ticks(std::vector<double>& starts, std::uint64_t seed) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (starts[i] > starts[i - 1]) {
      steps.push_back(starts[i] - starts[i - 1]);
    }
  }
  if (steps.empty() || 2 * steps.size() > starts.size()) {
    return;
  }
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2),
                   steps.end());
  double tick = steps[steps.size() / 2];
  random_stream random{seed, "fitted arrivals"};
  for (double& start : starts) {
    start += tick * random.uniform();
  }
  std::sort(starts.begin(), starts.end());
}

struct moments {
  double mean = 0;
  double variation = 0;  // standard deviation / mean
};

moments moments_of(const std::vector<double>& values) {
  moments m;
  for (double value : values) {
    m.mean += value / static_cast<double>(values.size());
  }
  double variance = 0;
  for (double value : values) {
    variance += (value - m.mean) * (value - m.mean) / static_cast<double>(values.size());
  }
  m.variation = m.mean > 0 ? std::sqrt(variance) / m.mean : 0;
  return m;
}

/// Relative amplitude of the first harmonic of the day.
double daily_amplitude(const std::vector<double>& starts) {
  double whole = std::floor((starts.back() - starts.front()) / day) * day;
  std::complex<double> sum;
  double count = 0;
  for (double start : starts) {
    if (start - starts.front() < whole) {
      sum += std::polar(1.0, 2 * std::numbers::pi * start / day);
      ++count;
    }
  }
  return count > 0 ? 2 * std::abs(sum) / count : 0;
}

std::vector<double> counts_in_windows(const std::vector<double>& starts, double window) {
  std::vector<double> counts(static_cast<std::size_t>((starts.back() - starts.front()) / window));
  for (double start : starts) {
    auto at = static_cast<std::size_t>((start - starts.front()) / window);
    if (at < counts.size()) {
      ++counts[at];
    }
  }
  return counts;
}

/// Windows above and below the mean count are the two states. False where they hardly alternate.
bool fit_on_off(const std::vector<double>& counts, double mean, double window,
                fitted_workload& into) {
  double sums[2] = {0, 0}, windows[2] = {0, 0}, runs[2] = {0, 0};
  int before = -1;
  for (double count : counts) {
    int state = count > mean ? 1 : 0;
    sums[state] += count;
    ++windows[state];
    runs[state] += state != before;
    before = state;
  }
  if (runs[0] < 3 || runs[1] < 3) {
    return false;
  }
  arrival_settings& a = into.settings.arrivals;
  a.kind = arrival_kind::on_off;
  into.settings.sessions_per_second = sums[1] / (windows[1] * window);
  a.off_per_second = sums[0] / (windows[0] * window);
  a.on_seconds = window * windows[1] / runs[1];
  a.off_seconds = window * windows[0] / runs[0];
  return true;
}

}  // namespace

void fit_arrivals(std::vector<double>& starts, std::uint64_t seed, fitted_workload& into) {
  arrival_settings& a = into.settings.arrivals;
  into.arrivals_reason = "too few sessions to tell";
  if (starts.size() < 10 || starts.back() <= starts.front()) {
    return;
  }
  spread_ticks(starts, seed);
  double span = starts.back() - starts.front();
  double mean_gap = span / static_cast<double>(starts.size() - 1);
  into.settings.sessions_per_second = std::clamp(1 / mean_gap, 1e-6, 1e9);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    gaps.push_back(starts[i] - starts[i - 1]);
  }
  double variation = into.gap_variation = moments_of(gaps).variation;
  double amplitude = span >= 1.5 * day ? daily_amplitude(starts) : 0;
  if (amplitude > 0.2) {
    a.kind = arrival_kind::diurnal;
    a.amplitude = std::min(amplitude, 1.0);
    into.arrivals_reason = "the rate follows the day";
    return;
  }
  double window = window_gaps * mean_gap;
  std::vector<double> counts = counts_in_windows(starts, window);
  moments in_windows = moments_of(counts);
  double dispersion = in_windows.variation * in_windows.variation * in_windows.mean;
  double squared = variation * variation;
  if (counts.size() >= 20 && dispersion > 2 * std::max(squared, 1.0) &&
      fit_on_off(counts, in_windows.mean, window, into)) {
    into.arrivals_reason = "counts vary more than independent gaps explain";
  } else if (squared > 0.8 && squared < 1.25) {
    into.arrivals_reason = "gaps vary as a Poisson process's do";
  } else {
    a.kind = arrival_kind::gamma;
    a.shape = std::clamp(1 / std::max(squared, 1e-3), 1e-3, 1e3);
    into.arrivals_reason = squared > 1 ? "gaps vary more than a Poisson process's"
                                       : "gaps vary less than a Poisson process's";
  }
}

}  // namespace refrain
