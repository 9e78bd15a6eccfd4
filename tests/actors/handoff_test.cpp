// Prefill and decode on executors of their own, in whole small runs.
#include <gtest/gtest.h>

#include "gpu/cost_model/cost_model.hpp"
#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::by_request;
using testing::quick_results;
using testing::quick_run;
using testing::random_chains;
using testing::same_times;
using testing::small_plan;
using testing::small_workload;
using testing::sum;

class apart : public testing::run_test {
 protected:
  static void set_apart(contender_plan& plan, std::int64_t prefill, std::int64_t decode,
                        double bytes_per_s) {
    plan.executors = prefill + decode;
    plan.disaggregation.prefill_executors = prefill;
    plan.disaggregation.handoff.bytes_per_s = bytes_per_s;
    plan.disaggregation.routing = testing::choose<routing_entry>("least_loaded");
  }
};

small_workload one_prompt(std::int64_t input, std::int64_t output) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  request r{};
  r.input_tokens = token_count{input};
  r.output_tokens = token_count{output};
  for (std::int64_t b = 0; b < (input + 15) / 16; ++b) {
    r.blocks.push_back(block_key{static_cast<std::uint64_t>(b) + 1});
  }
  w.rows.push_back(r);
  return w;
}

TEST_F(apart, the_first_token_comes_from_one_executor_and_the_others_after_the_hand_over) {
  small_workload w = one_prompt(1000, 3);
  contender_plan p = small_plan(100, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  set_apart(p, 1, 1, 1e9);
  table t = run(w.plan(), p);
  cost_model gpu{p.gpu, p.model, 1, p.host_overhead};
  batch prompt;
  prompt.prefill.push_back({token_count{1000}, token_count{0}});
  double ttft = to_seconds(gpu.iteration(prompt));
  double moved = static_cast<double>(63 * p.block_bytes()) / 1e9;
  double decoding = to_seconds(gpu.decode(1).at(1001) + gpu.decode(1).at(1002));
  EXPECT_NEAR(by_request<double>(t, "ttft_s")[0], ttft, 1e-9);
  EXPECT_NEAR(by_request<double>(t, "e2e_s")[0], ttft + moved + decoding, 2e-9);
  EXPECT_EQ(by_request<std::int64_t>(t, "moved_bytes")[0], 63 * p.block_bytes());
  EXPECT_EQ(by_request<std::int64_t>(t, "executor")[0], 0);
  EXPECT_EQ(by_request<std::int64_t>(t, "decode_executor")[0], 1);
  EXPECT_EQ(by_request<std::int64_t>(t, "computed_tokens")[0], 1000);
}

TEST_F(apart, blocks_that_the_decode_executor_still_has_are_not_sent_again) {
  small_workload w = one_prompt(320, 3);
  w.rows.push_back(w.rows[0]);
  w.rows[1].id = request_id{1};
  w.rows[1].session = session_id{1};
  w.rows[1].arrival = from_seconds(10);
  w.rows[1].input_tokens = token_count{400};
  for (std::uint64_t b = 20; b < 25; ++b) {
    w.rows[1].blocks.push_back(block_key{b + 1});
  }
  contender_plan p = small_plan(100, 16, "prefix", "lru");
  set_apart(p, 1, 1, 1e9);
  table t = run(w.plan(), p);
  auto moved = by_request<std::int64_t>(t, "moved_bytes");
  EXPECT_EQ(moved[0], 20 * p.block_bytes());
  EXPECT_EQ(moved[1], 5 * p.block_bytes());
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_tokens")[1], 320);
}

TEST_F(apart, answers_of_one_token_need_no_second_executor) {
  small_workload w = one_prompt(320, 1);
  contender_plan p = small_plan(100, 16, "prefix", "lru");
  set_apart(p, 1, 1, 1e9);
  table t = run(w.plan(), p);
  EXPECT_EQ(sum(t, "moved_bytes"), 0);
  EXPECT_EQ(sum(t, "decode_executor"), 0);
}

TEST_F(apart, a_slower_link_only_moves_what_follows_the_first_token) {
  small_workload w = random_chains(3, 80, 16, 400, 0.05);
  contender_plan p = small_plan(400, 16, "prefix", "lru");
  set_apart(p, 2, 2, 50e9);
  table fast = run(w.plan(), p);
  p.disaggregation.handoff.bytes_per_s = 1e9;
  table slow = run(w.plan(), p);
  auto before = by_request<double>(fast, "e2e_s");
  auto after = by_request<double>(slow, "e2e_s");
  double more = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    more += after[i] - before[i];
  }
  EXPECT_GT(more, 0);
  EXPECT_EQ(sum(fast, "input_tokens"), sum(fast, "hit_tokens") + sum(fast, "computed_tokens"));
}

TEST_F(apart, every_run_ends_and_windows_equal_steps_with_tiny_capacities) {
  const std::string policies[] = {"lru", "fifo", "lfu"};
  const std::string routing[] = {"least_loaded", "prefix_aware", "cost_based", "sticky"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 40u : 2'000u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 30, 4, 60, 0.002);
    random_stream draws{seed, "apart"};
    contender_plan p =
        small_plan(2 + static_cast<std::int64_t>(draws.below(30)), 4, "prefix", policies[seed % 3]);
    set_apart(p, 1 + static_cast<std::int64_t>(draws.below(2)),
              1 + static_cast<std::int64_t>(draws.below(2)),
              1e6 * static_cast<double>(1 + draws.below(100'000)));
    p.disaggregation.handoff.concurrency = 1 + static_cast<std::int64_t>(draws.below(3));
    p.routing = testing::choose<routing_entry>(routing[draws.below(4)]);
    p.disaggregation.routing = testing::choose<routing_entry>(routing[draws.below(4)]);
    p.overlap = draws.below(2) == 0;
    p.waiting = static_cast<load_wait>(draws.below(3));
    if (draws.below(2) == 0) {
      tier_plan host{.kind = tier_kind::host, .name = "host"};
      host.capacity = byte_count{static_cast<std::int64_t>(draws.below(40)) * p.block_bytes()};
      host.load.bytes_per_s = host.store.bytes_per_s = 1e9;
      host.own_links = true;
      host.loading = static_cast<tier_load>(draws.below(3));
      host.write = static_cast<tier_write>(draws.below(3));
      host.eviction = testing::choose<eviction_entry>("lru");
      p.tiers = {host};
    }
    quick_results windows = quick_run(w.plan(), p);
    EXPECT_EQ(windows.rows.size(), w.rows.size());
    p.fast_forward = false;
    EXPECT_TRUE(same_times(windows, quick_run(w.plan(), p)));
  }
}

}  // namespace
}  // namespace refrain
