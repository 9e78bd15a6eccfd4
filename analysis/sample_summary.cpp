// The figures of what was computed for real: the table `measured` of a contender.
#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/sample_summary.hpp"

namespace refrain {
namespace {

std::int64_t sum_of(const table& rows, std::string_view column) {
  const std::vector<std::int64_t>& values = rows.at(column).integers();
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::int64_t left_out_of(const results_reader& results, std::size_t contender) {
  if (!results.has(contender, "totals")) {
    return 0;
  }
  table totals = results.read(contender, "totals");
  const std::vector<std::string>& names = totals.at("name").texts();
  auto found = std::ranges::find(names, "sample_left_out");
  return found == names.end()
             ? 0
             : totals.at("value").integers()[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace

std::optional<sample_summary> summarise_sample(const results_reader& results,
                                               std::size_t contender) {
  if (!results.has(contender, "measured")) {
    return std::nullopt;
  }
  table rows = results.read(contender, "measured");
  std::vector<std::int64_t> sessions = rows.at("session").integers();
  std::ranges::sort(sessions);
  sessions.erase(std::unique(sessions.begin(), sessions.end()), sessions.end());
  const contender_description& about = results.run().contenders[contender];
  return sample_summary{.model = setting_of(about, "execution.model"),
                        .precision = setting_of(about, "execution.precision"),
                        .requests = static_cast<std::int64_t>(rows.rows()),
                        .sessions = static_cast<std::int64_t>(sessions.size()),
                        .left_out = left_out_of(results, contender),
                        .input_tokens = sum_of(rows, "input_tokens"),
                        .hit_tokens = sum_of(rows, "hit_tokens"),
                        .output_tokens = sum_of(rows, "output_tokens"),
                        .prefill_s = summarise(rows.at("prefill_s").reals()),
                        .tpot_s = summarise(rows.at("tpot_s").reals())};
}

}  // namespace refrain
