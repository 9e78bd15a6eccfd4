// Statistics against hand-computed and numpy values, and the figures of a run.
#include "analysis/summary.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "analysis/distribution_builder.hpp"
#include "analysis/request_totals.hpp"
#include "analysis/results_writer.hpp"
#include "analysis/statistics.hpp"
#include "tests/analysis/fixtures.hpp"
#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(quantile, is_linear_between_neighbours_as_numpy_has_it) {
  std::vector<double> five = {1, 2, 4, 8, 16};
  EXPECT_EQ(quantile(five, 0), 1);
  EXPECT_EQ(quantile(five, 0.5), 4);
  EXPECT_EQ(quantile(five, 0.9), 12.8);
  EXPECT_EQ(quantile(five, 0.99), 15.68);
  EXPECT_EQ(quantile(five, 1), 16);
  std::vector<double> tenths = {0.1, 0.2, 0.3, 0.7};
  EXPECT_EQ(quantile(tenths, 0.5), 0.25);
  EXPECT_EQ(quantile(tenths, 0.9), 0.5800000000000001);
  std::vector<double> pair = {0.1, 0.2};
  EXPECT_EQ(quantile(pair, 0.7), 0.17);  // from the upper neighbour; 0.16999999999999998 otherwise
  std::vector<double> one = {7};
  EXPECT_EQ(quantile(one, 0.99), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(exact_sum, carries_what_rounding_loses) {
  std::vector<double> values = {1, 1e100, 1, -1e100};
  EXPECT_EQ(exact_sum(values), 2);
  EXPECT_EQ(exact_sum({}), 0);
  EXPECT_EQ(exact_sum(std::vector<double>(10, 0.1)), 1);
}

TEST(summarise, does_not_depend_on_the_order_and_leaves_nan_out) {
  distribution a = summarise({3, 1, nan, 2});
  distribution b = summarise({nan, 1, 2, 3});
  EXPECT_EQ(a.count, 3);
  EXPECT_EQ(a.mean, 2);
  EXPECT_EQ(a.p50, 2);
  EXPECT_EQ(a.p99, b.p99);
  EXPECT_EQ(a.mean, b.mean);
  distribution none = summarise({});
  EXPECT_EQ(none.count, 0);
  EXPECT_TRUE(std::isnan(none.mean) && std::isnan(none.p50) && std::isnan(none.p99));
}

TEST(distribution_builder, describes_spilled_numbers_to_the_last_bit_as_those_in_memory) {
  random_stream random{7, "numbers"};
  for (std::size_t count : {1u, 99u, 100u, 101u, 200u, 12'345u}) {
    SCOPED_TRACE(count);
    distribution_builder builder{100};
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(i % 17 == 5 ? nan : random.log_normal(1, 2));
      builder.add(all.back());
    }
    distribution spilled = builder.finish();
    distribution expected = summarise(all);
    EXPECT_EQ(spilled.count, expected.count);
    EXPECT_EQ(spilled.mean, expected.mean);
    EXPECT_EQ(spilled.p50, expected.p50);
    EXPECT_EQ(spilled.p90, expected.p90);
    EXPECT_EQ(spilled.p99, expected.p99);
    EXPECT_EQ(builder.finish().count, 0);
  }
}

table three_requests() {
  return requests_table({{.ttft_s = 1,
                          .e2e_s = 3,
                          .finish_s = 3,
                          .input_tokens = 100,
                          .hit_tokens = 60,
                          .output_tokens = 5},
                         {.ttft_s = 2,
                          .e2e_s = 2,
                          .finish_s = 10,
                          .input_tokens = 300,
                          .hit_tokens = 40,
                          .output_tokens = 1},
                         {.input_tokens = 999'999, .output_tokens = 7, .status = 1}});
}

TEST(summary, counts_served_requests_exactly_and_refused_ones_apart) {
  contender_summary s = summarise_requests("lru", three_requests(), nullptr);
  EXPECT_EQ(s.at("requests_done").exact, 2);
  EXPECT_EQ(s.at("requests_refused").exact, 1);
  EXPECT_EQ(s.at("input_tokens").exact, 400);
  EXPECT_EQ(s.at("hit_tokens").exact, 100);
  EXPECT_EQ(s.at("hit_tokens_gpu").exact, 100);
  EXPECT_EQ(s.at("hit_tokens_host").exact, 0);
  EXPECT_EQ(s.at("recomputed_tokens").exact, 300);
  EXPECT_EQ(s.at("computed_tokens").exact, 300);
  EXPECT_EQ(s.at("token_hit_rate").value, 0.25);
  EXPECT_EQ(s.at("makespan_s").value, 10);
  EXPECT_EQ(s.at("output_tokens_per_s").value, 0.6);
  EXPECT_EQ(s.at("ttft_s").value, 1.5);
  EXPECT_EQ(s.at("ttft_s").distribution->count, 2);
  EXPECT_EQ(s.at("e2e_s").value, 2.5);
  EXPECT_EQ(s.at("queue_s").value, 0.75);
}

TEST(summary, leaves_outputs_under_two_tokens_out_of_tpot) {
  contender_summary s = summarise_requests("lru", three_requests(), nullptr);
  EXPECT_EQ(s.at("tpot_s").distribution->count, 1);
  EXPECT_EQ(s.at("tpot_s").value, 0.5);
}

TEST(summary, lists_the_metrics_in_the_order_of_the_command_line) {
  std::vector<std::string> names;
  for (const metric& m : summarise_requests("lru", three_requests(), nullptr).metrics) {
    names.push_back(m.name);
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "ttft_s", "tpot_s", "e2e_s", "queue_s", "requests_done",
                         "requests_refused", "input_tokens", "hit_tokens", "hit_tokens_gpu",
                         "hit_tokens_host", "hit_tokens_nvme", "hit_tokens_remote",
                         "hit_tokens_exact", "hit_tokens_blended", "hit_tokens_approximate",
                         "stale_tokens", "hit_blocks", "recomputed_tokens", "preempted_tokens",
                         "computed_tokens", "token_hit_rate", "makespan_s", "output_tokens_per_s",
                         "moved_bytes", "gpu_kv_peak_bytes", "routable_tokens", "routed_tokens"));
}

TEST(summary, takes_the_peak_from_the_totals) {
  table totals = totals_table();
  totals.at("name").texts() = {"other", "gpu_kv_peak_bytes"};
  totals.at("unit").texts() = {"1", "bytes"};
  totals.at("value").integers() = {1, 9'007'199'254'740'993};
  contender_summary s = summarise_requests("lru", three_requests(), &totals);
  EXPECT_EQ(s.at("gpu_kv_peak_bytes").exact, 9'007'199'254'740'993);
  contender_summary without = summarise_requests("lru", three_requests(), nullptr);
  EXPECT_TRUE(std::isnan(without.at("gpu_kv_peak_bytes").value));
  EXPECT_EQ(without.at("gpu_kv_peak_bytes").exact, std::nullopt);
}

TEST(summary, of_no_request_is_nan_and_zero) {
  contender_summary s = summarise_requests("lru", requests_table({}), nullptr);
  EXPECT_TRUE(std::isnan(s.at("ttft_s").value));
  EXPECT_TRUE(std::isnan(s.at("token_hit_rate").value));
  EXPECT_EQ(s.at("requests_done").exact, 0);
  EXPECT_EQ(s.at("makespan_s").value, 0);
}

TEST(summary, is_the_same_of_a_table_that_comes_in_pieces) {
  table all = three_requests();
  request_totals whole;
  whole.add(all);
  request_totals pieces;
  for (std::size_t row = 0; row < all.rows(); ++row) {
    table piece = all.like();
    piece.append(all, row, 1);
    pieces.add(piece);
  }
  whole.finish();
  pieces.finish();
  EXPECT_EQ(pieces.done(), whole.done());
  EXPECT_EQ(pieces.refused(), whole.refused());
  EXPECT_EQ(pieces.sum("hit_tokens"), whole.sum("hit_tokens"));
  EXPECT_EQ(pieces.last_finish(), whole.last_finish());
  EXPECT_EQ(pieces.ttft().p90, whole.ttft().p90);
  EXPECT_EQ(pieces.tpot().count, whole.tpot().count);
}

TEST(summary, names_a_missing_column) {
  table requests = three_requests();
  std::erase_if(requests.columns, [](const column& c) { return c.name == "hit_blocks"; });
  try {
    summarise_requests("lru", requests, nullptr);
    FAIL();
  } catch (const run_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("hit_blocks"));
  }
}

TEST(summary, gives_the_routing_of_older_files_as_unknown) {
  table old = three_requests();
  EXPECT_EQ(summarise_requests("lru", old, nullptr).at("routed_tokens").exact, 0);
  std::erase_if(old.columns, [](const column& c) { return c.name == "routed_tokens"; });
  EXPECT_TRUE(std::isnan(summarise_requests("lru", old, nullptr).at("routed_tokens").value));
}

TEST(comparison, sets_each_contender_against_the_first_and_decides_nothing) {
  std::vector<contender_summary> contenders = {
      summarise_requests("none", three_requests(), nullptr),
      summarise_requests("lru",
                         requests_table({{.ttft_s = 0.5,
                                          .e2e_s = 1,
                                          .finish_s = 5,
                                          .input_tokens = 100,
                                          .hit_tokens = 90,
                                          .output_tokens = 2}}),
                         nullptr)};
  table t = compare(contenders);
  EXPECT_EQ(t.rows(), 4u * 4 + 23);
  EXPECT_EQ(t.at("metric").texts()[0], "ttft_s");
  EXPECT_EQ(t.at("statistic").texts()[0], "mean");
  EXPECT_EQ(t.at("a").texts()[0], "none");
  EXPECT_EQ(t.at("b").texts()[0], "lru");
  EXPECT_EQ(t.at("difference").reals()[0], -1.0);
  EXPECT_TRUE(std::isnan(t.at("low").reals()[0]));
  EXPECT_TRUE(std::ranges::all_of(t.at("verdict").texts(),
                                  [](const std::string& v) { return v == "undecided"; }));
  auto row =
      std::ranges::find(t.at("metric").texts(), "hit_tokens") - t.at("metric").texts().begin();
  EXPECT_EQ(t.at("difference").reals()[static_cast<std::size_t>(row)], -10);
}

table measured_requests() {
  table requests = three_requests();
  requests.columns.push_back(real_column("measured_ttft_s", "s", ""));
  requests.columns.back().reals() = {2, 1, nan};
  requests.columns.push_back(real_column("measured_e2e_s", "s", ""));
  requests.columns.back().reals() = {4, 5, nan};
  return requests;
}

TEST(measured, sets_simulated_beside_measured_times) {
  contender_summary s = summarise_requests("lru", measured_requests(), nullptr);
  ASSERT_EQ(s.measured.size(), 3u);
  EXPECT_EQ(s.measured[0].metric, "ttft_s");
  EXPECT_EQ(s.measured[0].simulated_mean, 1.5);
  EXPECT_EQ(s.measured[0].measured_mean, 1.5);
  EXPECT_EQ(s.measured[0].relative_error, 0);
  EXPECT_EQ(s.measured[0].mean_absolute_relative_error, 0.75);
  EXPECT_EQ(s.measured[1].metric, "tpot_s");
  EXPECT_EQ(s.measured[1].count, 1);
  EXPECT_EQ(s.measured[1].measured_mean, 0.5);
  EXPECT_EQ(s.measured[2].relative_error, 2.5 / 4.5 - 1);
  EXPECT_TRUE(summarise_requests("lru", three_requests(), nullptr).measured.empty());
}

using summary_file = results_test;

TEST_F(summary_file, gives_the_figures_of_the_tables_it_was_written_from) {
  table totals = totals_table();
  totals.at("name").texts() = {"gpu_kv_peak_bytes"};
  totals.at("unit").texts() = {"bytes"};
  totals.at("value").integers() = {4096};
  results_writer writer{in_folder("a.h5"), two_contenders()};
  writer.contender(0).write("requests", three_requests());
  writer.contender(0).write("totals", totals);

  std::vector<contender_summary> half = summarise_run(results_reader{in_folder("a.h5")});
  ASSERT_EQ(half.size(), 1u);
  EXPECT_EQ(half[0].at("gpu_kv_peak_bytes").exact, 4096);
  EXPECT_THAT(summary_warnings(results_reader{in_folder("a.h5")}),
              testing::ElementsAre(testing::HasSubstr("incomplete")));

  writer.contender(1).write("requests", measured_requests());
  writer.finish({{}, {}, {"the cache never filled"}, {}});
  results_reader reader{in_folder("a.h5")};
  std::vector<contender_summary> all = summarise_run(reader);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "zebra");
  EXPECT_EQ(all[0].at("hit_tokens").exact, 100);
  EXPECT_EQ(all[0].at("ttft_s").value, 1.5);
  EXPECT_EQ(all[1].measured.size(), 3u);
  EXPECT_THAT(summary_warnings(reader), testing::ElementsAre("the cache never filled"));
}

TEST_F(summary_file, is_the_same_from_rows_that_were_watched_as_from_those_that_are_read) {
  results_writer writer{in_folder("a.h5"), two_contenders()};
  std::vector<request_totals> watched(2);
  for (std::size_t i = 0; i < 2; ++i) {
    contender_writer contender = writer.contender(i);
    contender.watch("requests", [&watched, i](const table& rows) { watched[i].add(rows); });
    table rows = i == 0 ? three_requests() : measured_requests();
    part_stream stream = contender.open("requests", rows.like());
    for (int times = 0; times < 700; ++times) {
      stream.append(rows);
    }
    contender.close();
    watched[i].finish();
  }
  writer.finish({});
  results_reader reader{in_folder("a.h5")};
  std::vector<contender_summary> read = summarise_run(reader);
  std::vector<contender_summary> all = summarise_run(reader, watched);
  ASSERT_EQ(all.size(), 2u);
  std::string texts[2];
  print_summary(texts[0], read, {});
  print_summary(texts[1], all, {});
  EXPECT_EQ(texts[0], texts[1]);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(all[i].metrics.size(), read[i].metrics.size());
    for (std::size_t m = 0; m < all[i].metrics.size(); ++m) {
      EXPECT_EQ(all[i].metrics[m].name, read[i].metrics[m].name);
      EXPECT_EQ(all[i].metrics[m].exact, read[i].metrics[m].exact);
    }
  }
}

TEST_F(summary_file, of_a_run_that_fails_is_written_though_who_watched_is_gone) {
  {
    results_writer writer{in_folder("a.h5"), two_contenders()};
    auto seen = std::make_unique<std::size_t>(0);
    contender_writer contender = writer.contender(0);
    contender.watch("requests", [&](const table& rows) { *seen += rows.rows(); });
    contender.open("requests", three_requests().like()).append(three_requests());
    seen.reset();
  }
  EXPECT_EQ(results_reader{in_folder("a.h5")}.read(0, "requests").rows(), 3u);
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  return longest;
}

TEST(print_summary, shows_contenders_differences_and_warnings_in_120_columns) {
  std::vector<contender_summary> contenders = {
      summarise_requests("no reuse", measured_requests(), nullptr),
      summarise_requests("a contender whose name is longer than any table should have to hold",
                         three_requests(), nullptr)};
  std::string text;
  print_summary(text, contenders, std::vector<std::string>{"the cache never filled"});
  EXPECT_LE(longest_line(text), 120u);
  EXPECT_THAT(text, testing::HasSubstr("TTFT p50"));
  EXPECT_THAT(text, testing::HasSubstr("25.0%"));
  EXPECT_THAT(text, testing::HasSubstr("0.0 pp"));
  EXPECT_THAT(text, testing::HasSubstr("simulated against measured"));
  EXPECT_THAT(text, testing::HasSubstr("warning: the cache never filled\n"));
  EXPECT_EQ(text.find(" \n"), std::string::npos);
}

TEST(print_summary, tells_what_routers_made_of_reuse_only_where_they_asked) {
  table asked = three_requests();
  for (column& c : asked.columns) {
    if (c.name == "routable_tokens" || c.name == "routed_tokens") {
      std::ranges::fill(c.integers(), 20);
    }
  }
  std::vector<contender_summary> contenders = {
      summarise_requests("blind", three_requests(), nullptr),
      summarise_requests("a contender whose name is longer than any table should have to hold, "
                         "and then some",
                         asked, nullptr)};
  std::string text;
  print_summary(text, std::span{contenders}.first(1), {});
  EXPECT_EQ(text.find("router"), std::string::npos);
  print_summary(text, contenders, {});
  EXPECT_LE(longest_line(text), 120u);
  EXPECT_THAT(text, testing::HasSubstr("router counted on"));
}

TEST(print_summary, gives_throughput_in_percent_and_tokens_as_signed_counts) {
  std::vector<contender_summary> contenders = {
      summarise_requests("first",
                         requests_table({{.ttft_s = 1,
                                          .e2e_s = 3,
                                          .finish_s = 10,
                                          .input_tokens = 5000,
                                          .output_tokens = 10}}),
                         nullptr),
      summarise_requests("second",
                         requests_table({{.ttft_s = 0.5,
                                          .e2e_s = 3,
                                          .finish_s = 8,
                                          .input_tokens = 5000,
                                          .hit_tokens = 2000,
                                          .output_tokens = 10}}),
                         nullptr)};
  std::string text;
  print_summary(text, contenders, {});
  for (const char* part : {"-50.0%", "+25.0%", "+40.0 pp", "-2,000", "0.0%"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace refrain
