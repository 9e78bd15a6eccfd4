#include "scenarios/validation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/statistics.hpp"

namespace refrain {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A metric's values by request.
std::map<std::int64_t, double> values_of(const results_reader& run, std::size_t contender,
                                         const std::string& metric) {
  std::vector<std::int64_t> ids = run.read_column(contender, "requests", "request").integers();
  std::vector<double> values = run.read_column(contender, "requests", metric).reals();
  std::map<std::int64_t, double> all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!std::isnan(values[i])) {
      all.emplace(ids[i], values[i]);
    }
  }
  return all;
}

distribution distribution_of(const std::map<std::int64_t, double>& values) {
  std::vector<double> plain;
  for (const auto& [id, value] : values) {
    plain.push_back(value);
  }
  return summarise(std::move(plain));
}

/// Mean of |value / real - 1| over the requests that both have.
double error_by_request(const std::map<std::int64_t, double>& real,
                        const std::map<std::int64_t, double>& values) {
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& [id, value] : values) {
    if (auto found = real.find(id); found != real.end() && found->second > 0) {
      sum += std::abs(value / found->second - 1);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : nan;
}

double bound_of(const std::string& metric, const std::string& statistic, double noise) {
  double asked = metric == "tpot_s"   ? nan
                 : statistic == "p50" ? 0.10
                 : statistic == "p99" ? 0.15
                                      : nan;
  return std::isnan(asked) ? nan : std::max(asked, 2 * std::abs(noise));
}

}  // namespace

bool validation_row::is_within() const {
  return std::isnan(bound) || std::abs(error) <= bound;
}

std::vector<validation_row> compare_runs(const results_reader& real, const results_reader& again,
                                         const results_reader& formula) {
  std::vector<validation_row> rows;
  for (std::size_t i = 0; i < real.run().contenders.size(); ++i) {
    for (const std::string metric : {"ttft_s", "tpot_s", "e2e_s"}) {
      std::map<std::int64_t, double> first = values_of(real, i, metric);
      std::map<std::int64_t, double> second = values_of(again, i, metric);
      std::map<std::int64_t, double> simulated = values_of(formula, i, metric);
      distribution a = distribution_of(first);
      distribution b = distribution_of(second);
      distribution c = distribution_of(simulated);
      auto add = [&](const std::string& statistic, double distribution::*of) {
        double noise = b.*of / a.*of - 1;
        rows.push_back({real.run().contenders[i].name, metric, statistic, a.*of, c.*of,
                        c.*of / a.*of - 1, noise, bound_of(metric, statistic, noise)});
      };
      add("mean", &distribution::mean);
      add("p50", &distribution::p50);
      add("p99", &distribution::p99);
      rows.push_back({real.run().contenders[i].name, metric, "request", nan, nan,
                      error_by_request(first, simulated), error_by_request(first, second), nan});
    }
  }
  return rows;
}

}  // namespace refrain
