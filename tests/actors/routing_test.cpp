// Whole contenders with several executors: what routers know, and what comes of it.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::by_request;
using testing::random_chains;
using testing::small_plan;
using testing::small_workload;
using testing::sum;

class routers : public testing::run_test {
 protected:
  std::int64_t hits(const workload_plan& w, const contender_plan& p) {
    return sum(run(w, p), "hit_tokens");
  }
};

/// Conversations whose prompts grow by 4 blocks of 16 tokens a turn, behind one of three system
/// prompts of 4 blocks: as in the Mooncake traces most of what can be reused is the session's own.
small_workload conversations(std::uint64_t seed, std::uint64_t sessions, std::uint32_t turns) {
  random_stream draws{seed, "conversations"};
  small_workload w;
  w.info = {.format = "memory",
            .block_tokens = token_count{16},
            .has_chains = true,
            .has_sessions = true,
            .id_scope = "trace"};
  double start = 0;
  for (std::uint64_t s = 0; s < sessions; ++s) {
    start += draws.exponential(0.05);
    double now = start;
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      request r{};
      r.session = session_id{s};
      r.turn = turn;
      r.last_turn = turn + 1 == turns;
      r.arrival = from_seconds(now);
      now += 0.5 + draws.exponential(1);
      for (std::uint64_t b = 0; b < 8 + 4 * turn; ++b) {
        r.blocks.push_back(block_key{b < 4 ? mix64(s % 3, b) : mix64(1'000 + s, b)});
      }
      r.input_tokens = token_count{static_cast<std::int64_t>(r.blocks.size()) * 16};
      r.output_tokens = token_count{8};
      w.rows.push_back(r);
    }
  }
  std::stable_sort(w.rows.begin(), w.rows.end(),
                   [](const request& a, const request& b) { return a.arrival < b.arrival; });
  for (std::size_t i = 0; i < w.rows.size(); ++i) {
    w.rows[i].id = request_id{i};
  }
  return w;
}

contender_plan eight_executors(const std::string& routing, const given_parameters& given = {}) {
  contender_plan p = small_plan(400, 16, "prefix", "lru");
  p.executors = 8;
  p.batching = testing::choose<batching_entry>("fcfs");
  p.routing = testing::choose<routing_entry>(routing, given);
  return p;
}

TEST_F(routers, that_ask_what_executors_hold_hit_more_than_round_robin) {
  small_workload w = conversations(1, 60, 6);
  std::int64_t blind = hits(w.plan(), eight_executors("round_robin"));
  std::int64_t prefix_aware = hits(w.plan(), eight_executors("prefix_aware"));
  std::int64_t cost_based = hits(w.plan(), eight_executors("cost_based"));
  EXPECT_GT(prefix_aware, 3 * blind / 2);
  EXPECT_GT(cost_based, 3 * blind / 2);
}

TEST_F(routers, lose_hits_by_news_that_comes_late) {
  small_workload w = conversations(2, 60, 6);
  contender_plan p = eight_executors("prefix_aware");
  std::int64_t exact = hits(w.plan(), p);
  p.routers.delay = from_seconds(3);
  std::int64_t delayed = hits(w.plan(), p);
  EXPECT_LT(delayed, exact);
  p.routers.delay = sim_time{0};
  p.routers.poll = from_seconds(5);
  EXPECT_LT(hits(w.plan(), p), exact);
  // With news that never comes in time the router sees no match at all.
  p.routers.poll = from_seconds(1000);
  table never = run(w.plan(), p);
  EXPECT_EQ(sum(never, "routed_tokens"), 0);
  EXPECT_GT(sum(never, "routable_tokens"), 0);
  EXPECT_LT(sum(never, "hit_tokens"), delayed);
  // What comes after the last answer is no part of the run.
  table samples = results_reader{folder_ / "run.h5"}.read(0, "executors");
  EXPECT_EQ(std::ranges::max(samples.at("time_s").reals()),
            std::ranges::max(never.at("finish_s").reals()));
}

TEST_F(routers, know_serially_and_without_delay_exactly_what_the_executor_finds) {
  const std::string evictions[] = {"lru", "fifo", "lfu", "infinite"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 8u : 40u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 80, 4, 60, 0.003);
    workload_plan serial = w.plan();
    serial.serial = true;
    contender_plan p =
        small_plan(20 + static_cast<std::int64_t>(seed % 20), 4, "prefix", evictions[seed % 4]);
    p.executors = 1 + static_cast<std::int64_t>(seed % 5);
    // A threshold of 0 and balance limits of 0 spread what does not match at all.
    p.routing = seed % 2 == 0 ? testing::choose<routing_entry>("prefix_aware", {{"threshold", "0"}})
                              : testing::choose<routing_entry>("cost_based");
    table t = run(serial, p);
    auto refused = by_request<std::int64_t>(t, "status");
    auto promised = by_request<std::int64_t>(t, "routed_tokens");
    auto found = by_request<std::int64_t>(t, "hit_tokens");
    auto available = by_request<std::int64_t>(t, "routable_tokens");
    EXPECT_GT(sum(t, "routed_tokens"), 0);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (refused[i] == 0) {
        ASSERT_EQ(promised[i], found[i]) << "request " << i;
        ASSERT_GE(available[i], promised[i]) << "request " << i;
      }
    }
  }
}

// In a pool without a spare block the request that found a short last block writes into it.
TEST_F(routers, hear_of_a_block_that_its_only_user_took_out_of_the_cache) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  for (std::uint64_t i = 0; i < 4; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.input_tokens = token_count{20};
    r.output_tokens = token_count{8};
    r.blocks = {block_key{7}, block_key{8}};
    w.rows.push_back(r);
  }
  workload_plan serial = w.plan();
  serial.serial = true;
  for (std::int64_t blocks : {2, 3, 10}) {
    SCOPED_TRACE(blocks);
    contender_plan p = small_plan(blocks, 16, "prefix", "lru");
    p.routing = testing::choose<routing_entry>("prefix_aware");
    table t = run(serial, p);
    EXPECT_EQ(t.at("routed_tokens").integers(), t.at("hit_tokens").integers());
  }
}

TEST_F(routers, count_what_was_available_from_the_truth_and_not_from_a_stale_view) {
  small_workload w = random_chains(4, 100, 4, 60, 0.003);
  workload_plan serial = w.plan();
  serial.serial = true;
  contender_plan p = small_plan(60, 4, "prefix", "lru");
  p.executors = 4;
  p.routing = testing::choose<routing_entry>("prefix_aware");
  p.routers.poll = from_seconds(1e6);
  table t = run(serial, p);
  // Blind and idle, the router always takes the first executor, so what was there was found.
  EXPECT_GT(sum(t, "hit_tokens"), 0);
  EXPECT_EQ(t.at("routable_tokens").integers(), t.at("hit_tokens").integers());
  EXPECT_EQ(sum(t, "routed_tokens"), 0);
}

TEST_F(routers, that_only_watch_change_nothing_but_what_is_reported) {
  small_workload w = conversations(6, 40, 5);
  contender_plan p = eight_executors("round_robin");
  table blind = run(w.plan(), p);
  EXPECT_EQ(sum(blind, "routable_tokens"), 0);
  p.routers.watch = true;
  table watched = run(w.plan(), p);
  for (const char* name : {"request", "executor", "hit_tokens"}) {
    EXPECT_EQ(blind.at(name).integers(), watched.at(name).integers()) << name;
  }
  EXPECT_EQ(blind.at("finish_s").reals(), watched.at("finish_s").reals());
  EXPECT_GT(sum(watched, "routed_tokens"), 0);
  EXPECT_GT(sum(watched, "routable_tokens"), 2 * sum(watched, "routed_tokens"));
}

TEST_F(routers, several_of_them_lose_no_request_and_no_token) {
  small_workload w = conversations(3, 60, 5);
  for (const char* routing : {"prefix_aware", "cost_based", "sticky", "least_loaded"}) {
    SCOPED_TRACE(routing);
    contender_plan p = eight_executors(routing);
    p.routers = {.count = 5, .delay = from_seconds(0.2)};
    table t = run(w.plan(), p);
    ASSERT_EQ(t.rows(), w.rows.size());
    EXPECT_EQ(sum(t, "status"), 0);
    EXPECT_EQ(sum(t, "computed_tokens"), sum(t, "input_tokens") - sum(t, "hit_tokens") -
                                             sum(t, "resumed_tokens") + sum(t, "preempted_tokens"));
    const auto& executors = t.at("executor").integers();
    EXPECT_GT((std::set<std::int64_t>{executors.begin(), executors.end()}.size()), 1u);
  }
}

TEST_F(routers, count_their_own_requests_only_so_that_several_balance_worse) {
  small_workload w = random_chains(9, 200, 16, 200, 0.0005);
  contender_plan p = small_plan(2'000, 16, "none", "lru");
  p.executors = 4;
  p.routing = testing::choose<routing_entry>("least_loaded");
  auto spread = [&] {
    table t = run(w.plan(), p);
    std::map<std::int64_t, std::int64_t> requests;
    for (std::int64_t e : t.at("executor").integers()) {
      ++requests[e];
    }
    auto [least, most] =
        std::ranges::minmax_element(requests, {}, [](const auto& each) { return each.second; });
    return most->second - least->second;
  };
  std::int64_t alone = spread();
  // A router that sees one request takes the first executor.
  p.routers.count = 4'000;
  EXPECT_GT(spread(), alone);
}

TEST_F(routers, keep_sessions_where_they_are_unless_the_load_differs_too_much) {
  small_workload w = conversations(5, 50, 5);
  auto moves = [&](const char* threshold) {
    table t = run(w.plan(), eight_executors("sticky", {{"threshold", threshold}}));
    std::map<std::int64_t, std::set<std::int64_t>> homes;
    for (std::size_t i = 0; i < t.rows(); ++i) {
      homes[t.at("session").integers()[i]].insert(t.at("executor").integers()[i]);
    }
    return std::ranges::count_if(homes, [](const auto& each) { return each.second.size() > 1; });
  };
  EXPECT_EQ(moves("1000"), 0);
  EXPECT_GT(moves("0"), 0);
}

TEST_F(routers, give_the_same_rows_in_windows_and_in_steps) {
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 4u : 12u); ++seed) {
    SCOPED_TRACE(seed);
    const char* const policies[] = {"prefix_aware", "cost_based", "sticky"};
    small_workload w = conversations(seed, 30, 4);
    contender_plan p = eight_executors(policies[seed % 3]);
    p.executors = 3;
    p.routers = {.count = 1 + static_cast<std::int64_t>(seed % 2),
                 .delay = from_seconds(seed % 4 == 1 ? 0.1 : 0),
                 .poll = from_seconds(seed % 4 == 2 ? 0.5 : 0)};
    table windows = run(w.plan(), p);
    p.fast_forward = false;
    table steps = run(w.plan(), p);
    for (const char* name : {"executor", "hit_tokens", "routed_tokens", "routable_tokens"}) {
      EXPECT_EQ(by_request<std::int64_t>(windows, name), by_request<std::int64_t>(steps, name));
    }
    EXPECT_EQ(by_request<double>(windows, "finish_s"), by_request<double>(steps, "finish_s"));
  }
}

}  // namespace
}  // namespace refrain
