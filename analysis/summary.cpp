// The metrics of `run --json` from per-request rows, and their comparison. Printing is in
// print_summary.cpp.
#include "analysis/summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/request_totals.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<std::string_view, 58> columns_read = {"status",
                                                           "ttft_s",
                                                           "tpot_s",
                                                           "e2e_s",
                                                           "queue_s",
                                                           "finish_s",
                                                           "input_tokens",
                                                           "output_tokens",
                                                           "hit_tokens",
                                                           "hit_tokens_gpu",
                                                           "hit_tokens_host",
                                                           "hit_tokens_nvme",
                                                           "hit_tokens_remote",
                                                           "hit_tokens_exact",
                                                           "hit_tokens_blended",
                                                           "hit_tokens_approximate",
                                                           "stale_tokens",
                                                           "hit_blocks",
                                                           "preempted_tokens",
                                                           "computed_tokens",
                                                           "moved_bytes",
                                                           "routable_tokens",
                                                           "routed_tokens",
                                                           "measured_ttft_s",
                                                           "measured_e2e_s",
                                                           "lost_tokens_never_seen",
                                                           "lost_tokens_last_token",
                                                           "lost_tokens_block_floor",
                                                           "lost_tokens_preempted",
                                                           "lost_tokens_evicted_gpu",
                                                           "lost_tokens_evicted_host",
                                                           "lost_tokens_evicted_nvme",
                                                           "lost_tokens_evicted_remote",
                                                           "lost_tokens_not_visible",
                                                           "lost_tokens_router",
                                                           "lost_tokens_admission",
                                                           "lost_tokens_load_slower",
                                                           "lost_tokens_blended",
                                                           "seen_tokens_anywhere",
                                                           "seen_tokens_prefix",
                                                           "seen_lost_order",
                                                           "seen_lost_floor",
                                                           "seen_lost_blended",
                                                           "seen_lost_cache",
                                                           "hit_tokens_unseen",
                                                           "retrieved_chunks",
                                                           "retrieved_tokens",
                                                           "retrieval_ns",
                                                           "harmless_edits",
                                                           "number_edits",
                                                           "negations",
                                                           "reuses",
                                                           "right_reuses",
                                                           "wrong_reuses",
                                                           "wrong_reuses_number",
                                                           "wrong_reuses_negation",
                                                           "wrong_reuses_other",
                                                           "stale_answers"};

/// Why tokens were computed: the columns of the causes.
constexpr std::string_view lost_prefix = "lost_tokens_";

metric spread_metric(std::string name, const distribution& d) {
  return {std::move(name), "s", d.mean, std::nullopt, d};
}

metric count_metric(std::string name, std::string unit, std::int64_t count) {
  return {std::move(name), std::move(unit), static_cast<double>(count), count, std::nullopt};
}

metric ratio_metric(std::string name, std::string unit, double numerator, double denominator) {
  double value = denominator > 0 ? numerator / denominator : nan;
  return {std::move(name), std::move(unit), value, std::nullopt, std::nullopt};
}

/// The sum of a column that older files lack: nan there.
metric optional_sum(std::string name, const char* unit, const request_totals& served) {
  if (served.has(name)) {
    std::int64_t sum = served.sum(name);
    return count_metric(std::move(name), unit, sum);
  }
  return {std::move(name), unit, nan, std::nullopt, std::nullopt};
}

metric total_metric(std::string name, std::string unit, const table* totals) {
  if (totals != nullptr) {
    const auto& names = totals->at("name").texts();
    auto at = std::ranges::find(names, name);
    if (at != names.end()) {
      auto row = static_cast<std::size_t>(at - names.begin());
      return count_metric(std::move(name), std::move(unit), totals->at("value").integers()[row]);
    }
  }
  return {std::move(name), std::move(unit), nan, std::nullopt, std::nullopt};
}

/// What became of a corpus that changed: edits are updates of documents that were there before and
/// are there afterwards.
void add_update_metrics(const table& updates, std::vector<metric>& metrics) {
  std::int64_t edits = 0;
  std::int64_t edited = 0;
  std::int64_t surviving = 0;
  distribution_builder shares;
  const auto& bytes = updates.at("bytes").integers();
  const auto& kept = updates.at("surviving_bytes").integers();
  for (std::size_t i = 0; i < updates.rows(); ++i) {
    if (updates.at("op").texts()[i] == "M") {
      ++edits;
      edited += bytes[i];
      surviving += kept[i];
      shares.add(bytes[i] == 0 ? 1 : static_cast<double>(kept[i]) / static_cast<double>(bytes[i]));
    }
  }
  auto updates_made = static_cast<std::int64_t>(updates.rows());
  metrics.push_back(count_metric("updates", "1", updates_made));
  metrics.push_back(count_metric("edits", "1", edits));
  metrics.push_back(count_metric("edited_bytes", "bytes", edited));
  metrics.push_back(count_metric("surviving_bytes", "bytes", surviving));
  distribution share = shares.finish();
  metrics.push_back({"surviving_share", "1", share.mean, std::nullopt, share});
}

std::vector<metric> metrics_of(const request_totals& served, const table* totals,
                               const table* updates) {
  std::vector<metric> m;
  m.push_back(spread_metric("ttft_s", served.ttft()));
  m.push_back(spread_metric("tpot_s", served.tpot()));
  m.push_back(spread_metric("e2e_s", served.e2e()));
  m.push_back(spread_metric("queue_s", served.queue()));
  m.push_back(count_metric("requests_done", "requests", served.done()));
  m.push_back(count_metric("requests_refused", "requests", served.refused()));
  auto sum = [&](std::string name, std::string unit) {
    std::int64_t total = served.sum(name);
    m.push_back(count_metric(std::move(name), std::move(unit), total));
    return total;
  };
  std::int64_t input = sum("input_tokens", "tokens");
  std::int64_t hit = sum("hit_tokens", "tokens");
  for (const char* name :
       {"hit_tokens_gpu", "hit_tokens_host", "hit_tokens_nvme", "hit_tokens_remote",
        "hit_tokens_exact", "hit_tokens_blended", "hit_tokens_approximate", "stale_tokens"}) {
    sum(name, "tokens");
  }
  sum("hit_blocks", "blocks");
  m.push_back(count_metric("recomputed_tokens", "tokens", input - hit));
  sum("preempted_tokens", "tokens");
  sum("computed_tokens", "tokens");
  m.push_back(
      ratio_metric("token_hit_rate", "1", static_cast<double>(hit), static_cast<double>(input)));
  double makespan = served.last_finish();
  m.push_back({"makespan_s", "s", makespan, std::nullopt, std::nullopt});
  m.push_back(ratio_metric("output_tokens_per_s", "tokens/s",
                           static_cast<double>(served.sum("output_tokens")), makespan));
  sum("moved_bytes", "bytes");
  m.push_back(total_metric("gpu_kv_peak_bytes", "bytes", totals));
  m.push_back(optional_sum("routable_tokens", "tokens", served));
  m.push_back(optional_sum("routed_tokens", "tokens", served));
  for (std::string_view name : columns_read) {
    bool seen = name.starts_with("seen_") || name == "hit_tokens_unseen";
    if ((seen || name.starts_with(lost_prefix)) && served.has(name)) {
      m.push_back(optional_sum(std::string{name}, "tokens", served));
    }
  }
  if (served.has("right_reuses")) {
    for (const char* name :
         {"harmless_edits", "number_edits", "negations", "reuses", "right_reuses", "wrong_reuses",
          "wrong_reuses_number", "wrong_reuses_negation", "wrong_reuses_other"}) {
      sum(name, "1");
    }
  }
  if (served.has("retrieval_ns")) {
    sum("retrieved_chunks", "1");
    sum("retrieved_tokens", "tokens");
    m.push_back(ratio_metric("retrieval_s", "s",
                             1e-9 * static_cast<double>(served.sum("retrieval_ns")),
                             static_cast<double>(served.done())));
  }
  if (served.has("stale_answers")) {
    sum("stale_answers", "requests");
  }
  if (updates != nullptr) {
    add_update_metrics(*updates, m);
  }
  return m;
}

void add_comparison(table& t, const std::string& name, const char* statistic,
                    const contender_summary& a, const contender_summary& b, double value_a,
                    double value_b) {
  std::size_t i = 0;
  for (const std::string& text : {name, std::string{statistic}, a.name, b.name}) {
    t.columns[i++].texts().push_back(text);
  }
  for (double value : {value_a, value_b, value_b - value_a, nan, nan}) {
    t.columns[i++].reals().push_back(value);
  }
  t.columns[i].texts().push_back("undecided");
}

void compare_metric(table& t, const contender_summary& first, const contender_summary& other,
                    std::size_t i) {
  const metric& a = first.metrics[i];
  const metric& b = other.metrics[i];
  if (!a.distribution || !b.distribution) {
    add_comparison(t, a.name, "value", first, other, a.value, b.value);
    return;
  }
  const distribution& x = *a.distribution;
  const distribution& y = *b.distribution;
  add_comparison(t, a.name, "mean", first, other, x.mean, y.mean);
  add_comparison(t, a.name, "p50", first, other, x.p50, y.p50);
  add_comparison(t, a.name, "p90", first, other, x.p90, y.p90);
  add_comparison(t, a.name, "p99", first, other, x.p99, y.p99);
}

}  // namespace

const metric& contender_summary::at(std::string_view metric_name) const {
  auto found = std::ranges::find(metrics, metric_name, &metric::name);
  REFRAIN_ASSERT(found != metrics.end());
  return *found;
}

std::span<const std::string_view> summary_columns() {
  return columns_read;
}

table totals_table() {
  return {{text_column("name", "what is counted, over the whole run of a contender"),
           text_column("unit", "unit of the value"),
           integer_column("value", "", "the count, in the unit beside it")}};
}

contender_summary summarise_requests(std::string name, const table& requests, const table* totals) {
  request_totals served;
  served.add(requests);
  served.finish();
  return {std::move(name), metrics_of(served, totals, nullptr), served.measured(), std::nullopt};
}

std::vector<contender_summary> summarise_run(const results_reader& results) {
  std::vector<request_totals> read(results.run().contenders.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (results.has(i, "requests")) {
      results.visit(i, "requests", summary_columns(),
                    [&](const table& rows) { read[i].add(rows); });
      read[i].finish();
    }
  }
  return summarise_run(results, read);
}

std::vector<contender_summary> summarise_run(const results_reader& results,
                                             std::span<const request_totals> gathered) {
  std::vector<contender_summary> summaries;
  for (std::size_t i = 0; i < results.run().contenders.size(); ++i) {
    if (!results.has(i, "requests")) {
      continue;
    }
    const request_totals& served = gathered[i];
    std::optional<table> totals;
    if (results.has(i, "totals")) {
      totals = results.read(i, "totals");
    }
    std::optional<table> updates;
    if (results.has(i, "updates")) {
      updates = results.read(i, "updates");
    }
    summaries.push_back(
        {results.run().contenders[i].name,
         metrics_of(served, totals ? &*totals : nullptr, updates ? &*updates : nullptr),
         served.measured(), summarise_sample(results, i)});
  }
  return summaries;
}

std::vector<std::string> summary_warnings(const results_reader& results) {
  std::vector<std::string> warnings = results.warnings();
  if (!results.complete()) {
    warnings.insert(warnings.begin(),
                    "this run is incomplete: contenders may have served different requests so far");
  }
  return warnings;
}

table compare(std::span<const contender_summary> contenders) {
  table t{{text_column("metric", "metric, as in run --json"),
           text_column("statistic", "value, mean, p50, p90 or p99"),
           text_column("a", "the first contender"), text_column("b", "the contender beside it"),
           real_column("value_a", "", "the statistic of a, in the metric's unit"),
           real_column("value_b", "", "the statistic of b, in the metric's unit"),
           real_column("difference", "", "value_b - value_a, in the metric's unit"),
           real_column("low", "", "lower end of the difference's interval; nan: none computed"),
           real_column("high", "", "upper end of the difference's interval; nan: none computed"),
           text_column("verdict", "b is better, worse or undecided; undecided without interval")}};
  for (std::size_t b = 1; b < contenders.size(); ++b) {
    for (std::size_t i = 0; i < contenders[0].metrics.size(); ++i) {
      compare_metric(t, contenders[0], contenders[b], i);
    }
  }
  return t;
}

}  // namespace refrain
