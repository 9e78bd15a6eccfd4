// Memories below the GPU, in whole small runs.
#include <gtest/gtest.h>

#include "actors/transfer_link.hpp"
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

class with_tiers : public testing::run_test {
 protected:
  static tier_plan host(std::int64_t blocks, double bytes_per_s, const contender_plan& above) {
    tier_plan t{.kind = tier_kind::host, .name = "host"};
    t.capacity = byte_count{blocks * above.block_bytes()};
    t.load.bytes_per_s = t.store.bytes_per_s = bytes_per_s;
    t.own_links = true;
    t.eviction = testing::choose<eviction_entry>("lru");
    return t;
  }

  static void expect_equal_times(const table& a, const table& b) {
    for (const char* name : {"ttft_s", "e2e_s"}) {
      EXPECT_TRUE(testing::same({{a.at("request"), a.at(name)}}, {{b.at("request"), b.at(name)}}));
    }
  }
};

// Prompts of many blocks that come back after others have filled the GPU.
small_workload returning_prompts(std::uint64_t prompts, std::uint64_t rounds, std::int64_t blocks) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  for (std::uint64_t i = 0; i < prompts * rounds; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.arrival = from_seconds(static_cast<double>(i));
    r.input_tokens = token_count{blocks * 16};
    r.output_tokens = token_count{2};
    for (std::int64_t b = 0; b < blocks; ++b) {
      r.blocks.push_back(block_key{mix64(i % prompts + 1, static_cast<std::uint64_t>(b))});
    }
    w.rows.push_back(r);
  }
  return w;
}

TEST(a_transfer_link, serialises_bytes_and_overlaps_set_up) {
  transfer_link two{{.bytes_per_s = 1000,
                     .latency = from_seconds(1),
                     .piece = byte_count{1000},
                     .concurrency = 2}};
  EXPECT_EQ(two.start(sim_time{0}, byte_count{1000}).end, from_seconds(2));
  EXPECT_EQ(two.start(sim_time{0}, byte_count{1000}).end, from_seconds(3));
  // Both channels are busy until then; the third sets up after the first is free.
  EXPECT_EQ(two.start(sim_time{0}, byte_count{1000}).end, from_seconds(4));
}

TEST(a_transfer_link, pays_for_each_piece) {
  transfer_link l{
      {.bytes_per_s = 1000, .piece_overhead = from_seconds(0.5), .piece = byte_count{100}}};
  EXPECT_EQ(l.estimate(sim_time{0}, byte_count{1000}).end, from_seconds(6));
  EXPECT_EQ(l.estimate(sim_time{0}, byte_count{50}).end, from_seconds(0.55));
}

TEST(a_transfer_link, refuses_what_would_take_longer_than_time_can_say) {
  transfer_link l{
      {.bytes_per_s = 1e9, .piece_overhead = from_seconds(3600), .piece = byte_count{1}}};
  EXPECT_THROW(l.estimate(sim_time{0}, byte_count{1'000'000'000'000}), run_error);
}

TEST_F(with_tiers, a_host_tier_lowers_recomputed_tokens_and_time_to_first_token) {
  small_workload w = returning_prompts(6, 5, 100);
  contender_plan p = small_plan(220, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  table alone = run(w.plan(), p);
  p.tiers = {host(2'000, 50e9, p)};
  table both = run(w.plan(), p);
  EXPECT_EQ(sum(alone, "hit_tokens"), 0);
  EXPECT_GT(sum(both, "hit_tokens_host"), 24 * 90 * 16);
  EXPECT_EQ(sum(both, "hit_tokens_host") + sum(both, "hit_tokens_gpu"), sum(both, "hit_tokens"));
  auto slow = by_request<double>(alone, "ttft_s");
  auto fast = by_request<double>(both, "ttft_s");
  for (std::size_t i = 6; i < slow.size(); ++i) {
    EXPECT_LT(fast[i], slow[i]) << "request " << i;
  }
}

TEST_F(with_tiers, a_tier_slower_than_recomputing_changes_no_time_under_auto) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 60, 16, 200, seed % 2 == 0 ? 0.005 : 0.05);
    contender_plan p = small_plan(22 + static_cast<std::int64_t>(seed), 16, "prefix", "lru");
    table alone = run(w.plan(), p);
    p.tiers = {host(500, 1e3, p)};
    for (tier_write write : {tier_write::demote, tier_write::through, tier_write::selective}) {
      p.tiers[0].write = write;
      expect_equal_times(alone, run(w.plan(), p));
    }
  }
}

TEST_F(with_tiers, serially_each_token_loaded_instead_of_computed_changes_its_requests_ttft) {
  small_workload w = returning_prompts(6, 3, 60);
  workload_plan serial = w.plan();
  serial.serial = true;
  contender_plan p = small_plan(130, 16, "prefix", "lru");
  table alone = run(serial, p);
  p.tiers = {host(2'000, 20e9, p)};
  table both = run(serial, p);
  auto slow = by_request<double>(alone, "ttft_s");
  auto fast = by_request<double>(both, "ttft_s");
  auto loaded = by_request<std::int64_t>(both, "hit_tokens_host");
  EXPECT_GT(sum(both, "hit_tokens_host"), 0);
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(loaded[i] > 0, slow[i] != fast[i]) << "request " << i;
  }
}

TEST_F(with_tiers, a_prefix_longer_than_the_tier_above_is_found_as_far_as_both_hold_it) {
  small_workload w = returning_prompts(1, 1, 40);
  small_workload other = returning_prompts(2, 1, 30);
  // The chain, then another prompt that pushes it out of GPU memory, then the chain again.
  request again = w.rows[0];
  request between = other.rows[1];
  between.id = request_id{1};
  again.id = request_id{2};
  between.arrival = from_seconds(10);
  again.arrival = from_seconds(20);
  w.rows.push_back(between);
  w.rows.push_back(again);
  w.rows[1].session = session_id{1};
  w.rows[2].session = session_id{2};
  contender_plan p = small_plan(45, 16, "prefix", "lru");
  p.tiers = {host(10, 1e12, p)};
  p.tiers[0].loading = tier_load::always;
  table t = run(w.plan(), p);
  // The prompt between takes 30 blocks and one for its output: GPU memory keeps the 14 blocks at
  // the head, the tier the 10 behind them of the 26 that were demoted.
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_blocks")[2], 24);
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_tokens_host")[2], 160);
}

// Two prompts by turns, so that GPU memory forgets one while it serves the other.
contender_plan forgetful_plan() {
  contender_plan p = small_plan(650, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  p.sample_every = from_seconds(1000);
  return p;
}

TEST_F(with_tiers, a_load_that_overlaps_ends_one_layer_before_the_first_token) {
  small_workload w = returning_prompts(2, 2, 400);
  for (request& r : w.rows) {
    r.input_tokens += token_count{1000};  // to compute behind what is loaded
  }
  contender_plan p = forgetful_plan();
  p.tiers = {host(2'000, 8e9, p)};
  p.tiers[0].loading = tier_load::always;
  table one_after_the_other = run(w.plan(), p);
  p.overlap = true;
  table together = run(w.plan(), p);
  auto blocks = by_request<std::int64_t>(together, "hit_tokens_host")[2] / 16;
  ASSERT_GT(blocks, 100);
  double load = to_seconds(transfer_link{p.tiers[0].load}
                               .estimate(sim_time{0}, byte_count{blocks * p.block_bytes()})
                               .end);
  cost_model gpu{p.gpu, p.model, 1, p.host_overhead};
  batch rest;
  rest.prefill.push_back({token_count{1000}, token_count{6400}});
  double compute = to_seconds(gpu.iteration(rest));
  ASSERT_GT(load, compute);
  auto layers = static_cast<double>(p.model.layers);
  EXPECT_NEAR(by_request<double>(one_after_the_other, "ttft_s")[2], load + compute, 2e-9);
  EXPECT_NEAR(by_request<double>(together, "ttft_s")[2], load + compute / layers, 2e-9);
  EXPECT_EQ(by_request<std::int64_t>(one_after_the_other, "hit_tokens"),
            by_request<std::int64_t>(together, "hit_tokens"));
}

TEST_F(with_tiers, a_split_computes_the_head_while_the_tail_is_loaded) {
  small_workload w = returning_prompts(2, 2, 600);
  contender_plan p = forgetful_plan();
  table alone = run(w.plan(), p);
  p.tiers = {host(2'000, 3e9, p)};
  p.tiers[0].staging = byte_count{std::int64_t{4} << 30};
  p.tiers[0].loading = tier_load::always;
  table loaded = run(w.plan(), p);
  p.tiers[0].loading = tier_load::split;
  table split = run(w.plan(), p);
  double computing = by_request<double>(alone, "ttft_s")[2];
  double loading = by_request<double>(loaded, "ttft_s")[2];
  double both = by_request<double>(split, "ttft_s")[2];
  EXPECT_LT(both, 0.8 * std::min(computing, loading));
  auto hits = by_request<std::int64_t>(split, "hit_tokens_host")[2];
  EXPECT_GT(hits, 1000);
  EXPECT_LT(hits, by_request<std::int64_t>(loaded, "hit_tokens_host")[2] - 1000);
  EXPECT_EQ(hits, by_request<std::int64_t>(split, "moved_bytes")[2] / p.block_bytes() * 16 - 1);
  EXPECT_EQ(by_request<std::int64_t>(split, "lost_tokens_load_slower")[2],
            by_request<std::int64_t>(split, "computed_tokens")[2] - 1);
  EXPECT_EQ(by_request<std::int64_t>(split, "lost_tokens_last_token")[2], 1);
}

TEST_F(with_tiers, what_a_cut_load_has_brought_is_used) {
  small_workload w = returning_prompts(3, 2, 300);
  // The first comes back while another prompt is computed, and enters right after that.
  request busy = w.rows[1];
  busy.session = session_id{9};
  busy.blocks.resize(1);
  busy.blocks[0] = block_key{99};
  busy.arrival = w.rows[3].arrival - from_seconds(0.001);
  busy.input_tokens = token_count{4000};
  w.rows.insert(w.rows.begin() + 3, busy);
  for (std::size_t i = 0; i < w.rows.size(); ++i) {
    w.rows[i].id = request_id{i};
  }
  contender_plan p = small_plan(560, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  p.tiers = {host(2'000, 2e9, p)};
  p.tiers[0].loading = tier_load::always;
  table all = run(w.plan(), p);
  p.waiting = load_wait::best_effort;
  table part = run(w.plan(), p);
  auto whole = by_request<std::int64_t>(all, "hit_tokens_host")[4];
  auto cut = by_request<std::int64_t>(part, "hit_tokens_host")[4];
  EXPECT_GT(cut, 0);
  EXPECT_LT(cut, whole);
  EXPECT_EQ(by_request<std::int64_t>(part, "moved_bytes")[4],
            by_request<std::int64_t>(all, "moved_bytes")[4]);
  EXPECT_GT(by_request<std::int64_t>(part, "lost_tokens_load_slower")[4], 0);
}

TEST_F(with_tiers, two_requests_that_want_the_same_blocks_load_them_once) {
  small_workload w = returning_prompts(2, 3, 300);
  w.rows[4].arrival = w.rows[2].arrival;
  std::swap(w.rows[3], w.rows[4]);
  w.rows[4].arrival = w.rows[5].arrival = from_seconds(10);
  for (std::size_t i = 0; i < w.rows.size(); ++i) {
    w.rows[i].id = request_id{i};
  }
  contender_plan p = small_plan(500, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  p.tiers = {host(2'000, 10e9, p)};
  p.tiers[0].loading = tier_load::always;
  table t = run(w.plan(), p);
  auto moved = by_request<std::int64_t>(t, "moved_bytes");
  EXPECT_GT(moved[2], 0);
  EXPECT_EQ(moved[3], 0);
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_tokens")[3],
            by_request<std::int64_t>(t, "input_tokens")[3] - 1);
}

TEST_F(with_tiers, where_staging_is_short_the_blocks_nearest_to_the_head_are_kept) {
  small_workload w = returning_prompts(2, 2, 100);
  contender_plan p = small_plan(101, 16, "prefix", "lru");
  p.batching = testing::choose<batching_entry>("fcfs");
  p.tiers = {host(2'000, 50e9, p)};
  p.tiers[0].loading = tier_load::always;
  p.tiers[0].staging = byte_count{30 * p.block_bytes()};
  table t = run(w.plan(), p);
  // GPU memory keeps the first block of the first prompt.
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_blocks")[2], 31);
  p.tiers[0].staging = byte_count{1000 * p.block_bytes()};
  p.tiers[0].capacity = byte_count{30 * p.block_bytes()};
  EXPECT_EQ(by_request<std::int64_t>(run(w.plan(), p), "hit_blocks")[2], 30);
}

TEST_F(with_tiers, every_run_ends_with_tiny_capacities_and_everything_pinned) {
  const std::string policies[] = {"lru", "fifo", "lfu"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 60u : 10'000u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 30, 4, 60, 0.002);
    contender_plan p =
        small_plan(2 + static_cast<std::int64_t>(seed % 22), 4, "prefix", policies[seed % 3]);
    p.executors = 1 + static_cast<std::int64_t>(seed % 2);
    random_stream draws{seed, "tiers"};
    p.tiers = {host(static_cast<std::int64_t>(draws.below(30)),
                    1e6 * static_cast<double>(1 + draws.below(100'000)), p)};
    p.tiers[0].loading = static_cast<tier_load>(draws.below(3));
    p.overlap = draws.below(2) == 0;
    p.tiers[0].write = static_cast<tier_write>(draws.below(3));
    p.tiers[0].staging = byte_count{static_cast<std::int64_t>(draws.below(6)) * p.block_bytes()};
    p.tiers[0].load.concurrency = 1 + static_cast<std::int64_t>(draws.below(3));
    p.waiting = static_cast<load_wait>(draws.below(3));
    if (draws.below(2) == 0) {
      tier_plan remote = host(static_cast<std::int64_t>(draws.below(50)), 1e9, p);
      remote.kind = tier_kind::remote;
      remote.name = "remote";
      remote.own_links = remote.per_node = false;
      remote.loading = static_cast<tier_load>(draws.below(3));
      p.tiers.push_back(remote);
    }
    quick_results windows = quick_run(w.plan(), p);
    EXPECT_EQ(windows.rows.size(), w.rows.size());
    p.fast_forward = false;
    EXPECT_TRUE(same_times(windows, quick_run(w.plan(), p)));
  }
}

}  // namespace
}  // namespace refrain
