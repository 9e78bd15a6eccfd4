// Situations that users of cache servers and of other simulators have reported as faults. Each test
// names one of the public reports it stands for.
#include <gtest/gtest.h>

#include "gpu/cost_model/cost_model.hpp"
#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::quick_results;
using testing::quick_run;
using testing::small_plan;
using testing::small_workload;

constexpr std::int64_t block = 16;

// Requests over chains of blocks, one after the other.
class situation : public ::testing::Test {
 protected:
  situation() {
    work_.info = {.format = "memory",
                  .block_tokens = token_count{block},
                  .has_chains = true,
                  .id_scope = "trace"};
  }

  /// A prompt of `shared` blocks of chain `head` and then `own` blocks that only `own_chain` has.
  request& ask(double at, std::uint64_t head, std::int64_t shared, std::uint64_t own_chain = 0,
               std::int64_t own = 0) {
    request r{};
    r.id = request_id{work_.rows.size()};
    r.session = session_id{work_.rows.size()};
    r.arrival = from_seconds(at);
    r.input_tokens = token_count{(shared + own) * block};
    r.output_tokens = token_count{1};
    for (std::int64_t b = 0; b < shared; ++b) {
      r.blocks.push_back(block_key{mix64(head, static_cast<std::uint64_t>(b))});
    }
    for (std::int64_t b = 0; b < own; ++b) {
      r.blocks.push_back(
          block_key{mix64(mix64(head, own_chain + 1'000), static_cast<std::uint64_t>(b))});
    }
    work_.rows.push_back(std::move(r));
    return work_.rows.back();
  }

  static tier_plan host(std::int64_t blocks, double bytes_per_s, const contender_plan& above) {
    tier_plan t{.kind = tier_kind::host, .name = "host"};
    t.capacity = byte_count{blocks * above.block_bytes()};
    t.load.bytes_per_s = t.store.bytes_per_s = bytes_per_s;
    t.own_links = true;
    t.staging = byte_count{std::int64_t{1} << 40};
    t.eviction = testing::choose<eviction_entry>("lru");
    return t;
  }

  /// Answers by request.
  std::vector<answer> run(const contender_plan& plan, bool serial = false) const {
    workload_plan w = work_.plan();
    w.serial = serial;
    std::vector<answer> answers(work_.rows.size());
    for (const request_over& row : quick_run(w, plan).rows) {
      answers[row.id.get()] = row.result;
    }
    return answers;
  }
  double ttft(const answer& a, std::size_t row) const {
    return to_seconds(a.first_token - work_.rows[row].arrival);
  }
  static std::int64_t lost(const answer& a, lost_cause cause) {
    return a.lost[static_cast<std::size_t>(cause)];
  }

  small_workload work_;
};

contender_plan roomy(std::int64_t blocks, const std::string& eviction = "lru") {
  contender_plan p = small_plan(blocks, block, "prefix", eviction);
  p.batching = testing::choose<batching_entry>("fcfs");
  return p;
}

// vllm-project/vllm#54607: a shared prompt shorter than a block hits nothing; the report must say
// so.
TEST_F(situation, a_shared_prompt_shorter_than_a_block_is_lost_to_the_block_floor) {
  work_.info.has_chains = false;
  for (std::uint64_t i = 0; i < 2; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.arrival = from_seconds(static_cast<double>(i));
    r.input_tokens = token_count{240};
    r.output_tokens = token_count{1};
    r.segments = {{content_id{7}, token_count{240}, segment_kind::system}};
    work_.rows.push_back(r);
  }
  contender_plan p = roomy(100);
  p.keys = key_scheme{token_count{784}, token_count{0}};
  std::vector<answer> coarse = run(p);
  EXPECT_EQ(coarse[1].hit_tokens, 0);
  EXPECT_EQ(lost(coarse[1], lost_cause::block_floor) + lost(coarse[1], lost_cause::never_seen),
            240);
  p.keys = key_scheme{token_count{16}, token_count{0}};
  EXPECT_EQ(run(p)[1].hit_tokens, 239);
}

// ggml-org/llama.cpp#10993: two prompts by turns lose the cache though both fit.
TEST_F(situation, two_alternating_prompts_that_fit_both_keep_their_cache) {
  for (int i = 0; i < 20; ++i) {
    ask(i, 1 + static_cast<std::uint64_t>(i) % 2, 30);
  }
  std::vector<answer> answers = run(roomy(64));
  for (std::size_t i = 2; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].hit_blocks, 30) << i;
  }
}

// LMCache/LMCache#4867: a prefix longer than the cache, stored chunk by chunk and repeated, found 0
// chunks.
TEST_F(situation, a_prefix_longer_than_the_cache_is_found_as_far_as_it_fits_in_every_tier) {
  constexpr std::int64_t longest = 60;
  constexpr std::int64_t held = 25;
  for (const char* where : {"host", "nvme", "remote"}) {
    SCOPED_TRACE(where);
    work_.rows.clear();
    for (int i = 0; i < 6; ++i) {
      // Prompts without names push the chain out of GPU memory, and nothing into the tier.
      ask(10 * i, 1, longest);
      ask(10 * i + 3, 1, longest);
      ask(10 * i + 6, 2, longest).blocks.clear();
    }
    contender_plan p = roomy(longest);
    p.batching =
        testing::choose<batching_entry>("fcfs", {{"token_budget", "64"}, {"max_sequences", "6"}});
    tier_plan below = host(held, 1e13, p);
    below.name = where;
    below.kind = std::string{where} == "host"   ? tier_kind::host
                 : std::string{where} == "nvme" ? tier_kind::nvme
                                                : tier_kind::remote;
    below.own_links = below.kind == tier_kind::host;
    below.per_node = below.kind != tier_kind::remote;
    below.loading = tier_load::always;
    below.write = tier_write::through;
    p.tiers = {below};
    // Written through, the tier sees the chain in chunks of 4 blocks, again and again.
    for (tier_write write : {tier_write::through, tier_write::demote, tier_write::selective}) {
      p.tiers[0].write = write;
      std::vector<answer> answers = run(p);
      for (std::size_t i = 3; i < answers.size(); i += 3) {
        EXPECT_EQ(answers[i].hit_blocks, held) << i << " " << static_cast<int>(write);
      }
    }
  }
}

// llm-d/llm-d-inference-sim#704: the head of a chain was dropped while its tail stayed.
TEST_F(situation, a_chain_gives_way_from_its_tail) {
  ask(0, 1, 40);
  ask(10, 2, 15);
  ask(20, 1, 40);
  // 50 blocks hold the first chain and 10 more: of the first, 35 stay, at its head.
  EXPECT_EQ(run(roomy(50))[2].hit_blocks, 35);
}

// llm-d/llm-d-inference-sim#705: blocks behind a gap were counted as hits.
TEST_F(situation, nothing_behind_a_gap_is_a_hit) {
  ask(0, 1, 10);
  request& other = ask(10, 1, 10);
  other.blocks[4] = block_key{999};
  std::vector<answer> answers = run(roomy(50));
  EXPECT_EQ(answers[1].hit_blocks, 4);
  EXPECT_EQ(answers[1].hit_tokens, 4 * block);
  EXPECT_EQ(answers[1].computed_tokens, 6 * block);
}

// ml-explore/mlx-lm#1495: an "LRU" that is FIFO evicts the system prompt that everybody uses.
TEST_F(situation, a_system_prompt_that_every_request_uses_is_never_evicted_by_lru) {
  for (int i = 0; i < 40; ++i) {
    ask(i, 1, 5, static_cast<std::uint64_t>(i) + 1, 7);
  }
  std::vector<answer> answers = run(roomy(20));
  for (std::size_t i = 1; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].hit_blocks, 5) << i;
  }
  std::vector<answer> fifo = run(roomy(20, "fifo"));
  EXPECT_TRUE(std::ranges::any_of(fifo, [](const answer& a) { return a.hit_blocks == 0; }));
}

// ddalcu/mlx-serve#378: a sweep over 32 documents evicts the live chat.
TEST_F(situation, a_sweep_of_one_time_documents_costs_lru_the_chat_and_a_host_tier_brings_it_back) {
  for (int turn = 0; turn < 4; ++turn) {
    ask(turn, 1, 40);
  }
  for (std::uint64_t document = 0; document < 32; ++document) {
    ask(10 + static_cast<double>(document), 100 + document, 20);
  }
  ask(60, 1, 40);
  contender_plan p = roomy(100);
  std::vector<answer> alone = run(p);
  EXPECT_EQ(alone.back().hit_blocks, 0);
  EXPECT_EQ(lost(alone.back(), lost_cause::evicted_gpu), 40 * block);
  EXPECT_EQ(run(roomy(100, "lfu")).back().hit_blocks, 40);
  p.tiers = {host(1'000, 50e9, p)};
  EXPECT_EQ(run(p).back().tier_hit_tokens[0], 40 * block - 1);
}

// inference-sim/inference-sim#1699: the hit rate rose 4.8 times and no latency moved.
TEST_F(situation, whoever_hits_more_has_its_first_token_sooner) {
  random_stream draws{1, "hits"};
  for (int i = 0; i < 60; ++i) {
    ask(i, 1 + draws.below(4), 20, static_cast<std::uint64_t>(i) + 1,
        1 + static_cast<std::int64_t>(draws.below(20)));
  }
  std::vector<answer> small = run(roomy(60), true);
  std::vector<answer> large = run(roomy(2'000), true);
  int more = 0;
  for (std::size_t i = 0; i < small.size(); ++i) {
    auto time = [](const answer& a) { return a.first_token - a.arrived; };
    EXPECT_GE(large[i].hit_tokens, small[i].hit_tokens);
    EXPECT_EQ(large[i].hit_tokens > small[i].hit_tokens, time(large[i]) < time(small[i])) << i;
    more += large[i].hit_tokens > small[i].hit_tokens ? 1 : 0;
  }
  EXPECT_GT(more, 10);
}

// sgl-project/sglang#32724: a finished prefetch waited for the next scan of the queue, for seconds.
TEST_F(situation, a_finished_load_is_used_at_that_instant) {
  ask(0, 1, 100);
  ask(10, 2, 100);
  ask(20, 1, 100);
  contender_plan p = roomy(101);
  p.tiers = {host(1'000, 1e9, p)};
  p.tiers[0].loading = tier_load::always;
  std::vector<answer> answers = run(p);
  auto loaded = answers[2].loaded_bytes / p.block_bytes();
  ASSERT_GT(loaded, 50);
  double load = static_cast<double>(answers[2].loaded_bytes.get()) / 1e9;
  cost_model gpu{p.gpu, p.model, 1, p.host_overhead};
  batch last;
  last.decodes = 1;
  last.decode_context = last.longest_decode_context = 100 * block;
  EXPECT_NEAR(ttft(answers[2], 2), load + to_seconds(gpu.iteration(last)), 2e-9);
}

// LMCache/LMCache#1639: time to first token grows by the round trip to the store, and by no more.
TEST_F(situation, the_latency_of_a_remote_store_is_paid_once_a_load) {
  ask(0, 1, 100);
  ask(10, 2, 100);
  ask(20, 1, 100);
  contender_plan p = roomy(101);
  p.tiers = {host(1'000, 50e9, p)};
  p.tiers[0].loading = tier_load::always;
  double near = ttft(run(p)[2], 2);
  for (double latency : {0.01, 0.02, 0.05}) {
    p.tiers[0].load.latency = from_seconds(latency);
    EXPECT_NEAR(ttft(run(p)[2], 2), near + latency, 1e-9);
  }
}

// LMCache/LMCache#207: a block was read while it was being written.
TEST_F(situation, a_block_that_is_being_written_to_a_tier_is_not_found_there) {
  ask(0, 1, 100);
  ask(10, 2, 100);
  ask(11, 1, 100);  // the first is still on its way down
  ask(600, 2, 100);
  ask(900, 1, 100);
  contender_plan p = roomy(101);
  p.tiers = {host(1'000, 50e9, p)};
  p.tiers[0].loading = tier_load::always;
  p.tiers[0].store.bytes_per_s = 1e6;
  std::vector<answer> answers = run(p);
  EXPECT_EQ(answers[2].tier_hit_tokens[0], 0);
  EXPECT_GT(answers[4].tier_hit_tokens[0], 50 * block);
}

// LMCache/LMCache#2641: what happens when host memory is too small for what is sent there.
TEST_F(situation, a_host_memory_too_small_for_the_load_costs_nothing_but_is_counted) {
  for (int i = 0; i < 30; ++i) {
    ask(i, 1 + static_cast<std::uint64_t>(i) % 5, 60);
  }
  contender_plan p = roomy(100);
  std::vector<answer> alone = run(p);
  p.tiers = {host(10, 50e9, p)};
  workload_plan w = work_.plan();
  quick_results with = quick_run(w, p);
  for (const request_over& row : with.rows) {
    EXPECT_LE(row.result.first_token, alone[row.id.get()].first_token);
  }
  ASSERT_EQ(with.tiers.size(), 1u);
  const tier_summary& t = with.tiers[0];
  EXPECT_GT(t.evicted_blocks + t.dropped_blocks, 0);
  EXPECT_EQ(t.stored_blocks, t.evicted_blocks + t.held_blocks);
  EXPECT_LE(t.peak_blocks, 10);
}

// sgl-project/sglang#27024: pinned sessions wedge the pool. Here all of GPU memory is in use by
// running requests, again and again.
TEST_F(situation, with_everything_pinned_requests_still_make_progress) {
  for (int i = 0; i < 12; ++i) {
    ask(0, 1 + static_cast<std::uint64_t>(i), 10).output_tokens = token_count{200};
  }
  contender_plan p = roomy(26);
  p.tiers = {host(40, 1e9, p)};
  for (const answer& a : run(p)) {
    EXPECT_GT(a.finished, a.arrived);
    EXPECT_EQ(a.refused, refusal::none);
  }
}

// ai-dynamo/dynamo#737: a shared system prompt sends all load to one worker of eight.
TEST_F(situation, a_shared_system_prompt_does_not_send_all_load_to_one_executor) {
  for (int i = 0; i < 160; ++i) {
    ask(0.001 * i, 1, 20, static_cast<std::uint64_t>(i) + 1, 20).output_tokens = token_count{50};
  }
  contender_plan p = roomy(2'000);
  p.executors = 8;
  p.routing = testing::choose<routing_entry>("prefix_aware", {{"balance_abs", "4"}});
  std::vector<std::int64_t> served(8);
  for (const answer& a : run(p)) {
    ++served[a.executor];
  }
  EXPECT_LE(std::ranges::max(served), 40);
  EXPECT_GE(std::ranges::min(served), 5);
}

// Different tenants share nothing, equal ones do (vllm-project/vllm#16016): both directions, or the
// test would pass without a cache.
TEST_F(situation, tenants_share_with_themselves_only_in_every_tier) {
  work_.info.has_chains = false;
  for (std::uint64_t i = 0; i < 6; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.arrival = from_seconds(static_cast<double>(10 * i));
    r.input_tokens = token_count{60 * block};
    r.output_tokens = token_count{1};
    bool filler = i == 2;
    r.segments = {{content_id{filler ? 8u : 7u}, r.input_tokens, segment_kind::document}};
    r.salt = i == 1 || i == 5 ? 2 : 1;
    work_.rows.push_back(r);
  }
  contender_plan p = roomy(65);
  p.keys = key_scheme{token_count{block}, token_count{0}};
  p.tiers = {host(1'000, 50e9, p)};
  p.tiers[0].loading = tier_load::always;
  std::vector<answer> answers = run(p);
  EXPECT_EQ(answers[1].hit_tokens, 0);  // the other tenant's
  EXPECT_GT(answers[3].tier_hit_tokens[0], 50 * block);
  EXPECT_EQ(answers[4].hit_tokens, 60 * block - 1);
  EXPECT_GT(answers[5].tier_hit_tokens[0], 50 * block);
  EXPECT_EQ(answers[5].hit_tokens, 60 * block - 1);
}

}  // namespace
}  // namespace refrain
