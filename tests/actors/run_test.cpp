// Whole contenders over small random workloads and over public traces.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "gpu/capacity.hpp"
#include "policies/replay.hpp"
#include "tests/actors/run_fixture.hpp"
#include "traces/adapt.hpp"
#include "traces/generator.hpp"

namespace refrain {
namespace {

using testing::by_request;
using testing::random_chains;
using testing::same;
using testing::small_plan;
using testing::small_workload;

class a_run : public testing::run_test {};

std::shared_ptr<future> future_of(const small_workload& w) {
  auto ahead = std::make_shared<future>();
  for (const request& r : w.rows) {
    ahead->add(r.id, r.blocks);
  }
  return ahead;
}

TEST_F(a_run, fast_forward_equals_stepping_to_the_nanosecond) {
  const std::string policies[] = {"lru", "fifo", "lfu", "look_ahead_lru", "infinite", "belady"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 12u : 36u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 60, 16, 200, seed % 3 == 0 ? 0.005 : 0.05);
    contender_plan p =
        small_plan(20 + static_cast<std::int64_t>(seed), 16, "prefix", policies[seed % 6]);
    p.ahead = future_of(w);
    p.executors = 1 + static_cast<std::int64_t>(seed % 2);
    table windows = run(w.plan(), p);
    p.fast_forward = false;
    EXPECT_TRUE(same(windows, run(w.plan(), p)));
  }
}

TEST_F(a_run, gives_every_request_one_end_whatever_the_capacity) {
  const std::string policies[] = {"lru", "lfu", "infinite", "fifo", "belady", "look_ahead_lru"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 30u : 120u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 40, 4, 60, 0.003);
    // Some pools are too small for some requests: these are refused, all others end.
    contender_plan p = small_plan(1 + static_cast<std::int64_t>(seed % 25), 4,
                                  seed % 7 == 0 ? "none" : "prefix", policies[seed % 6]);
    p.ahead = future_of(w);
    table t = run(w.plan(), p);
    ASSERT_EQ(t.rows(), w.rows.size());
    auto status = by_request<std::int64_t>(t, "status");
    auto hits = by_request<std::int64_t>(t, "hit_tokens");
    auto computed = by_request<std::int64_t>(t, "computed_tokens");
    auto again = by_request<std::int64_t>(t, "preempted_tokens");
    auto resumed = by_request<std::int64_t>(t, "resumed_tokens");
    for (std::size_t i = 0; i < w.rows.size(); ++i) {
      std::int64_t tokens =
          w.rows[i].input_tokens + std::max<std::int64_t>(w.rows[i].output_tokens, 1) - 1;
      EXPECT_EQ(status[i] != 0, (tokens + 3) / 4 > p.blocks) << "request " << i;
      if (status[i] == 0) {
        EXPECT_EQ(computed[i], w.rows[i].input_tokens - hits[i] - resumed[i] + again[i])
            << "request " << i;
        EXPECT_LT(hits[i], w.rows[i].input_tokens);
      }
    }
  }
}

TEST_F(a_run, without_reuse_has_no_hits_even_when_requests_resume) {
  small_workload w = random_chains(3, 80, 4, 60, 0.001);
  table t = run(w.plan(), small_plan(30, 4, "none", "lru"));
  EXPECT_GT(testing::sum(t, "preemptions"), 0);
  EXPECT_EQ(testing::sum(t, "hit_tokens"), 0);
  EXPECT_EQ(testing::sum(t, "hit_blocks"), 0);
}

TEST_F(a_run, counts_the_hits_of_a_request_once_however_often_it_is_preempted) {
  small_workload w = random_chains(5, 120, 4, 60, 0.0005);
  table t = run(w.plan(), small_plan(26, 4, "prefix", "lru"));
  EXPECT_GT(testing::sum(t, "preemptions"), 0);
  auto hits = by_request<std::int64_t>(t, "hit_tokens");
  for (std::size_t i = 0; i < hits.size(); ++i) {
    EXPECT_LT(hits[i], w.rows[i].input_tokens);
  }
}

TEST_F(a_run, serially_no_request_hits_more_than_with_the_endless_cache) {
  for (const char* policy : {"lru", "fifo", "lfu", "look_ahead_lru", "belady"}) {
    SCOPED_TRACE(policy);
    small_workload w = random_chains(11, 150, 4, 60, 0.001);
    workload_plan serial = w.plan();
    serial.serial = true;
    auto endless = by_request<std::int64_t>(run(serial, small_plan(30, 4, "prefix", "infinite")),
                                            "hit_tokens");
    contender_plan p = small_plan(30, 4, "prefix", policy);
    p.ahead = future_of(w);
    auto mine = by_request<std::int64_t>(run(serial, p), "hit_tokens");
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_LE(mine[i], endless[i]) << "request " << i;
    }
  }
}

TEST_F(a_run, finds_a_block_only_after_the_iteration_that_filled_it) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  for (std::uint64_t i = 0; i < 2; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.input_tokens = token_count{32};
    r.output_tokens = token_count{1};
    r.blocks = {block_key{7}, block_key{8}};
    w.rows.push_back(r);
  }
  table together = run(w.plan(), small_plan(20, 16, "prefix", "lru"));
  EXPECT_EQ(testing::sum(together, "hit_tokens"), 0);
  EXPECT_EQ(by_request<std::int64_t>(together, "pending_tokens")[1], 32);
  w.rows[1].arrival = from_seconds(1);
  table apart = run(w.plan(), small_plan(20, 16, "prefix", "lru"));
  EXPECT_EQ(by_request<std::int64_t>(apart, "hit_tokens")[1], 31);
  EXPECT_EQ(by_request<std::int64_t>(apart, "hit_blocks")[1], 2);
}

TEST_F(a_run, a_wholly_found_prompt_that_ends_in_a_short_block_leaves_that_block_alone) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  for (std::uint64_t i = 0; i < 4; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.arrival = from_seconds(i < 1 ? 0 : 10);
    r.input_tokens = token_count{20};
    r.output_tokens = token_count{8};
    r.blocks = {block_key{7}, block_key{8}};
    w.rows.push_back(r);
  }
  for (std::int64_t blocks : {2, 3, 4, 10}) {
    SCOPED_TRACE(blocks);
    table t = run(w.plan(), small_plan(blocks, 16, "prefix", "lru"));
    EXPECT_EQ(by_request<std::int64_t>(t, "hit_blocks")[1], 2);
    EXPECT_EQ(testing::sum(t, "status"), 0);
  }
}

TEST_F(a_run, a_prefix_longer_than_the_cache_stored_in_chunks_hits_as_much_as_fits) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  // 40 blocks of one chain go through a pool of 50, then 30 blocks of another one, then the chain
  // again.
  for (std::uint64_t i = 0; i < 3; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.output_tokens = token_count{1};
    std::uint64_t blocks = i == 1 ? 30 : 40;
    r.input_tokens = token_count{static_cast<std::int64_t>(blocks) * 16};
    for (std::uint64_t b = 0; b < blocks; ++b) {
      r.blocks.push_back(block_key{mix64(i == 1 ? 2 : 1, b)});
    }
    w.rows.push_back(r);
  }
  workload_plan serial = w.plan();
  serial.serial = true;
  table tail_first = run(serial, small_plan(50, 16, "prefix", "lru"));
  EXPECT_EQ(by_request<std::int64_t>(tail_first, "hit_blocks")[2], 20);
  table head_first = run(serial, small_plan(50, 16, "prefix", "lru", {{"order", "front"}}));
  EXPECT_EQ(by_request<std::int64_t>(head_first, "hit_blocks")[2], 0);
}

TEST_F(a_run, stops_with_the_words_of_the_actor_that_fails) {
  small_workload w = random_chains(1, 20, 16, 100, 0.01);
  workload_plan broken = w.plan();
  struct failing_source final : source {
    explicit failing_source(std::unique_ptr<source> s) : inner{std::move(s)} {}
    const trace_info& info() const override { return inner->info(); }
    const row_counts& counts() const override { return inner->counts(); }
    bool next(request& out) override {
      if (++rows == 10) {
        throw run_error{"the disk went away"};
      }
      return inner->next(out);
    }
    std::unique_ptr<source> inner;
    int rows = 0;
  };
  auto open = broken.open;
  broken.open = [open] { return std::make_unique<failing_source>(open()); };
  try {
    run(broken, small_plan(30, 16, "prefix", "lru"));
    FAIL() << "it did not fail";
  } catch (const run_error& e) {
    EXPECT_STREQ(e.what(), "lru: population: the disk went away");
  }
}

TEST_F(a_run, later_turns_wait_for_the_answer_and_the_think_time_and_find_it_in_the_cache) {
  generator_settings settings;
  settings.requests = 200;
  settings.sessions_per_second = 2;
  small_workload w;
  auto rows = make_generator(settings, 5);
  w.info = rows->info();
  for (request r; rows->next(r);) {
    w.rows.push_back(r);
  }
  contender_plan p = small_plan(20'000, 16, "prefix", "lru");
  p.keys = key_scheme{token_count{16}, token_count{0}};
  p.batching = testing::choose<batching_entry>("fcfs");
  p.retrieval.latency = from_seconds(0.005);
  table t = run(w.plan(), p);
  auto arrival = by_request<double>(t, "arrival_s");
  auto finish = by_request<double>(t, "finish_s");
  auto ttft = by_request<double>(t, "ttft_s");
  auto hits = by_request<std::int64_t>(t, "hit_tokens");
  int later = 0;
  for (std::size_t i = 0; i < w.rows.size(); ++i) {
    EXPECT_GT(ttft[i], 0.005);
    if (w.rows[i].turn > 0) {
      ++later;
      EXPECT_NEAR(arrival[i], finish[i - 1] + to_seconds(w.rows[i].delay), 1e-8);
      // All full blocks of the previous prompt and answer but its last token are there.
      EXPECT_GE(hits[i],
                (w.rows[i - 1].input_tokens + w.rows[i - 1].output_tokens - 1) / 16 * 16 - 16);
    }
  }
  EXPECT_GT(later, 50);
}

std::string data(const std::string& path) {
  return std::string{REFRAIN_SHARED_DATA} + "/" + path;
}

workload_plan trace_workload(const std::string& format, const std::string& path,
                             const adaptation& changes) {
  workload_plan w;
  w.open = [=] { return adapt([=] { return open_trace(format, {.path = path}); }, changes); };
  auto rows = w.open();
  for (request r; rows->next(r);) {
    ++w.requests;
  }
  w.info = rows->info();
  return w;
}

class serial_conversation : public testing::run_test {
 protected:
  std::int64_t hit_blocks(const std::string& eviction, std::int64_t blocks, std::int64_t outputs) {
    workload_plan w = trace_workload("mooncake", data("mooncake/conversation_trace.jsonl.gz"),
                                     {.output_tokens = token_count{outputs}});
    w.serial = true;
    contender_plan p = small_plan(blocks, 512, "prefix", eviction);
    p.batching = testing::choose<batching_entry>("fcfs");
    p.slots = static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, 182'790));
    return testing::sum(run(w, p), "hit_blocks");
  }
};

TEST_F(serial_conversation, equals_replay_exactly_with_one_output_token) {
  if (!std::filesystem::exists(data("mooncake"))) {
    GTEST_SKIP() << "the Mooncake traces are not here";
  }
  EXPECT_EQ(hit_blocks("lru", 1'000, 1), 12'847);
  EXPECT_EQ(hit_blocks("lru", 10'000, 1), 61'046);
}

TEST_F(serial_conversation, differs_from_replay_where_outputs_take_blocks_or_order_matters) {
  if (refrain_debug_checks) {
    GTEST_SKIP() << "takes minutes with sanitizers; the test above plays the same trace";
  }
  if (!std::filesystem::exists(data("mooncake"))) {
    GTEST_SKIP() << "the Mooncake traces are not here";
  }
  // Outputs need blocks of their own while a request runs, so less is left for the cache.
  EXPECT_EQ(hit_blocks("lru", 1'000, 0), 12'845);
  EXPECT_EQ(hit_blocks("lru", 10'000, 0), 61'045);
  // FIFO is in order of insertion, and a run inserts a chain head first, chunk by chunk, where
  // replay touches its tail first: the head leaves first and orphans the rest.
  EXPECT_EQ(hit_blocks("fifo", 1'000, 1), 12'824);
  EXPECT_EQ(hit_blocks("fifo", 10'000, 1), 52'410);
}

class measured_vllm : public testing::run_test {};

TEST_F(measured_vllm, comes_within_three_percent_of_the_real_server) {
  std::string path =
      data("gpu-profiles/llmservingsim/bench__RTX4090__Llama-3.1-8B__vllm__requests.jsonl.xz");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the measured run is not here";
  }
  workload_plan w = trace_workload("vllm_requests", path, {});
  contender_plan p = small_plan(2'588, 16, "none", "lru");
  p.gpu = load_profile("rtx-4090");
  p.keys = key_scheme{token_count{16}, token_count{0}};
  p.batching =
      testing::choose<batching_entry>("fcfs", {{"token_budget", "2048"}, {"max_sequences", "256"}});
  table t = run(w, p);
  auto mean_error = [&t](const char* simulated, const char* measured) {
    double a = 0;
    double b = 0;
    for (std::size_t i = 0; i < t.rows(); ++i) {
      a += t.at(simulated).reals()[i];
      b += t.at(measured).reals()[i];
    }
    return a / b - 1;
  };
  EXPECT_NEAR(mean_error("ttft_s", "measured_ttft_s"), 0, 0.03);
  EXPECT_NEAR(mean_error("e2e_s", "measured_e2e_s"), 0, 0.03);
  double error = 0;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    error += std::abs(t.at("e2e_s").reals()[i] / t.at("measured_e2e_s").reals()[i] - 1);
  }
  EXPECT_LT(error / static_cast<double>(t.rows()), 0.02);
}

}  // namespace
}  // namespace refrain
