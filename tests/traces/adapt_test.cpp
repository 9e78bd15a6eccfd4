#include "traces/adapt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temp_files.hpp"
#include "traces/generator.hpp"

namespace refrain {
namespace {

using namespace std::chrono_literals;

/// Rows as given, numbered.
class listed final : public source {
 public:
  listed(std::vector<request> rows, trace_info info) : rows_{std::move(rows)}, info_{info} {}
  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return counts_; }
  bool next(request& out) override {
    if (counts_.rows_read == rows_.size()) {
      return false;
    }
    out = rows_[counts_.rows_read];
    out.id = request_id{counts_.rows_read++};
    ++counts_.rows_kept;
    return true;
  }

 private:
  std::vector<request> rows_;
  trace_info info_;
  row_counts counts_;
};

request at(sim_time arrival, std::uint64_t session = 0, std::uint32_t turn = 0,
           sim_time delay = 0s) {
  request row;
  row.arrival = arrival;
  row.session = session_id{session};
  row.turn = turn;
  row.delay = delay;
  row.last_turn = false;
  row.output_tokens = token_count{5};
  row.measured = measured_times{1s, 2s};
  return row;
}

source_opener rows_of(std::vector<request> rows, trace_info info = {}) {
  return [=] { return std::make_unique<listed>(rows, info); };
}

std::vector<request> adapted(const source_opener& open, const adaptation& changes) {
  auto rows = adapt(open, changes);
  return read_all(*rows);
}

TEST(adaptation, by_default_changes_nothing) {
  auto rows = adapted(rows_of({at(1s), at(1s), at(3s)}), {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].arrival, 1s);
  EXPECT_EQ(rows[2].id, request_id{2});
  EXPECT_EQ(rows[2].output_tokens, 5);
  EXPECT_TRUE(rows[2].measured);
}

TEST(limit, keeps_the_first_rows_and_reads_no_further) {
  auto rows = adapt(rows_of({at(1s), at(2s), at(3s)}), {.limit = 2});
  EXPECT_EQ(read_all(*rows).size(), 2u);
  EXPECT_EQ(rows->counts().rows_read, 2u);
  EXPECT_EQ(adapted(rows_of({at(1s), at(2s)}), {.limit = 9}).size(), 2u);
}

TEST(limit, ends_a_session_at_its_last_row_within_it) {
  trace_info info;
  info.has_sessions = true;
  auto rows =
      adapted(rows_of({at(1s, 0), at(1s, 1), at(2s, 0, 1), at(3s, 1, 1), at(4s, 0, 2)}, info),
              {.limit = 3});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].last_turn);
  EXPECT_TRUE(rows[1].last_turn);
  EXPECT_TRUE(rows[2].last_turn);
}

TEST(output_tokens, are_the_given_ones_and_measured_times_go) {
  auto rows = adapt(rows_of({at(1s), at(2s)}), {.output_tokens = token_count{77}});
  for (const request& row : read_all(*rows)) {
    EXPECT_EQ(row.output_tokens, 77);
    EXPECT_FALSE(row.measured);
  }
  EXPECT_FALSE(rows->info().has_measured);
}

std::vector<request> bucketed(std::size_t groups, std::size_t each, sim_time apart) {
  std::vector<request> rows;
  for (std::size_t i = 0; i < groups * each; ++i) {
    rows.push_back(at(apart * static_cast<std::int64_t>(i / each)));
  }
  return rows;
}

TEST(spread, keeps_row_order_within_one_timestamp_and_stays_in_its_interval) {
  auto rows = adapted(rows_of(bucketed(50, 20, 3s)), {.spread = 3s, .seed = 4});
  ASSERT_EQ(rows.size(), 1000u);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sim_time bucket = 3s * static_cast<std::int64_t>(i / 20);
    EXPECT_GE(rows[i].arrival, bucket);
    EXPECT_LT(rows[i].arrival, bucket + 3s);
    EXPECT_EQ(rows[i].id.get(), i);
    EXPECT_TRUE(i == 0 || rows[i - 1].arrival <= rows[i].arrival);
    sum += to_seconds(rows[i].arrival - bucket);
  }
  EXPECT_NEAR(sum / 1000, 1.5, 0.12) << "uniform on 3 s: the mean's error is 0.027 s";
}

TEST(spread, is_the_same_for_a_seed_and_another_for_another) {
  auto open = rows_of(bucketed(3, 5, 3s));
  auto first = adapted(open, {.spread = 3s, .seed = 1});
  auto again = adapted(open, {.spread = 3s, .seed = 1});
  auto other = adapted(open, {.spread = 3s, .seed = 2});
  int differences = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].arrival, again[i].arrival);
    differences += first[i].arrival != other[i].arrival;
  }
  EXPECT_EQ(differences, 15);
}

TEST(spread, says_how_far_arrivals_may_go_back_and_speed_scales_it) {
  auto open = rows_of({at(0s), at(1s)});
  EXPECT_EQ(adapt(open, {})->info().disorder, 0s);
  EXPECT_EQ(adapt(open, {.spread = 3s})->info().disorder, 3s);
  EXPECT_EQ(adapt(open, {.spread = 3s, .speed = 2})->info().disorder, 1500ms);
}

TEST(spread, leaves_turns_that_wait_for_a_think_time_where_they_are) {
  trace_info info;
  info.has_sessions = true;
  auto rows = adapted(rows_of({at(6s, 0), at(6s, 0, 1, 2s), at(6s, 1), at(9s, 2), at(6s, 1, 1, 1s),
                               at(6s, 1, 2, 0s), at(9s, 3)},
                              info),
                      {.spread = 3s, .seed = 1});
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_GT(rows[0].arrival, 6s);
  EXPECT_EQ(rows[1].arrival, 6s);
  EXPECT_GT(rows[2].arrival, rows[0].arrival);
  EXPECT_EQ(rows[4].arrival, 6s);
  EXPECT_EQ(rows[5].arrival, 6s);
  EXPECT_GT(rows[6].arrival, rows[3].arrival) << "one group, though other turns stand between";
}

TEST(speed, divides_arrivals_and_think_times_after_the_spread) {
  auto rows = adapted(rows_of({at(4s, 0, 0, 2s)}), {.speed = 4});
  EXPECT_EQ(rows.at(0).arrival, 1s);
  EXPECT_EQ(rows.at(0).delay, 500ms);
  auto open = rows_of(bucketed(3, 5, 3s));
  auto slow = adapted(open, {.spread = 3s, .seed = 1});
  auto fast = adapted(open, {.spread = 3s, .speed = 2, .seed = 1});
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_NEAR(to_seconds(fast[i].arrival), to_seconds(slow[i].arrival) / 2, 1e-9);
  }
}

TEST(adaptation, refuses_values_out_of_range_by_their_key) {
  auto open = rows_of({at(1s)});
  EXPECT_EQ(error_of([&] { adapt(open, {.speed = 0}); }),
            "workload.speed: must be a number above 0");
  EXPECT_EQ(error_of([&] { adapt(open, {.spread = -1s}); }),
            "workload.spread: must not be negative");
  EXPECT_EQ(error_of([&] { adapt(open, {.output_tokens = token_count{-1}}); }),
            "workload.output_tokens: must not be negative");
  EXPECT_EQ(error_of([&] { adapted(open, {.speed = 1e-12}); }),
            "workload.speed: makes an arrival later than 285 years");
  EXPECT_EQ(error_of([&] { adapted(open, {.spread = sim_time::max()}); }),
            "workload.spread: makes an arrival later than 285 years");
}

}  // namespace
}  // namespace refrain
