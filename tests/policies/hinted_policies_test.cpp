// Policies that are told more than keys: categories, costs, hints, steps, lifetimes. Each rule by
// hand, and the refusal where a trace cannot tell.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "policies/cache.hpp"
#include "policies/replay.hpp"
#include "tests/policies/columns.hpp"

namespace refrain {
namespace {

std::unique_ptr<eviction> make(const char* name, std::uint32_t slots, given_parameters given = {}) {
  const auto& entry = registry<eviction_entry>::find(name, "test");
  return entry.make({entry.info.parameters, given, "test"}, {.slots = slots, .capacity = slots});
}

request_view at(std::int64_t seconds) {
  return {.now = from_seconds(static_cast<double>(seconds))};
}

TEST(ttl, soft_from_the_last_use_is_lru) {
  access_columns columns = testing::chain_columns(500, 1);
  for (std::int64_t capacity : {5, 50, 150}) {
    given_parameters soft = {{"mode", "soft"}, {"ttl", "20s"}};
    EXPECT_EQ(replay(columns, "ttl", soft, capacity, replay_rule::prefix, "test").hits,
              replay(columns, "lru", {}, capacity, replay_rule::prefix, "test").hits);
  }
}

TEST(ttl, hard_drops_what_is_over_its_time_though_there_is_room) {
  access_columns columns;
  columns.has_chains = true;
  columns.block_tokens = token_count{16};
  for (std::int64_t second : {1, 5, 15, 26}) {
    columns.starts.push_back(columns.keys.size());
    columns.keys.push_back(block_key{7});
    columns.arrivals.push_back(from_seconds(static_cast<double>(second)));
  }
  columns.starts.push_back(columns.keys.size());
  auto hits = [&](given_parameters given) {
    return replay(columns, "ttl", given, 100, replay_rule::prefix, "test").hits;
  };
  EXPECT_EQ(hits({{"ttl", "10s"}}), 2u);                         // gaps of 4, 10 and 11 seconds
  EXPECT_EQ(hits({{"ttl", "10s"}, {"from", "insertion"}}), 1u);  // 14 s old at the third
  EXPECT_EQ(hits({{"ttl", "10s"}, {"mode", "soft"}}), 3u);
}

TEST(ttl, soft_from_insertion_lets_the_oldest_go_first_once_their_time_is_over) {
  auto policy = make("ttl", 2, {{"mode", "soft"}, {"from", "insertion"}, {"ttl", "10s"}});
  cache<eviction> blocks{*policy, 2, 2};
  policy->begin_request(at(0));
  slot_id old = blocks.insert({.key = block_key{1}});
  policy->begin_request(at(5));
  slot_id young = blocks.insert({.key = block_key{2}});
  policy->on_hit(old, {.key = block_key{1}});
  EXPECT_EQ(policy->victim(), young);
  policy->begin_request(at(11));
  EXPECT_EQ(policy->victim(), old);
}

TEST(cost_aware, cheap_blocks_go_before_dear_ones_of_the_same_age) {
  auto policy = make("cost_aware", 2);
  cache<eviction> blocks{*policy, 2, 2};
  policy->begin_request(at(0));
  slot_id dear = blocks.insert({.key = block_key{1}, .recompute_seconds = 0.1});
  slot_id cheap = blocks.insert({.key = block_key{2}, .recompute_seconds = 0.01});
  EXPECT_EQ(policy->victim(), cheap);
  // Ten times as dear is worth less once it is old enough: 0.1 / (1 + 600 / 60) < 0.01.
  policy->begin_request(at(600));
  policy->on_hit(cheap, {.key = block_key{2}});
  EXPECT_EQ(policy->victim(), dear);
}

TEST(workload_aware, the_category_that_is_used_again_soon_stays) {
  auto policy = make("workload_aware", 12);
  cache<eviction> blocks{*policy, 12, 12};
  slot_id chat[4], once[8];
  policy->begin_request(at(0));
  for (std::uint64_t i = 0; i < 4; ++i) {
    chat[i] = blocks.insert({.key = block_key{i}, .category = 1});
  }
  for (std::int64_t second = 1; second < 200; ++second) {
    policy->begin_request(at(second));
    policy->on_hit(chat[second % 4], {.key = block_key{0}, .category = 1});
  }
  for (std::uint64_t i = 0; i < 8; ++i) {
    once[i] = blocks.insert({.key = block_key{100 + i}, .category = 0});
  }
  policy->begin_request(at(201));
  EXPECT_EQ(policy->victim(), once[0]);
}

TEST(retention, the_lowest_priority_goes_and_time_lowers_a_priority) {
  auto policy = make("retention", 3);
  cache<eviction> blocks{*policy, 3, 3};
  policy->begin_request(at(0));
  slot_id high =
      blocks.insert({.key = block_key{1}, .priority = 90, .retention = from_seconds(10)});
  slot_id standard = blocks.insert({.key = block_key{2}});
  slot_id low = blocks.insert({.key = block_key{3}, .priority = 10});
  EXPECT_EQ(blocks.evict(), low);
  EXPECT_EQ(policy->victim(), standard);
  policy->begin_request(at(11));
  EXPECT_EQ(policy->victim(), high);  // 35 by now, and used before the other
}

TEST(kvflow, the_agent_farthest_from_its_turn_gives_way_and_shared_blocks_stay) {
  auto policy = make("kvflow", 3);
  cache<eviction> blocks{*policy, 3, 3};
  policy->begin_request({});
  slot_id shared = blocks.insert({.key = block_key{1}, .agent = 0});
  policy->on_hit(shared, {.key = block_key{1}, .agent = 1});
  slot_id near = blocks.insert({.key = block_key{2}, .agent = 0});
  slot_id far = blocks.insert({.key = block_key{3}, .agent = 1});
  std::vector<agent_steps> upcoming = {{0, 1}, {1, 3}};
  policy->begin_request({.upcoming = upcoming});
  EXPECT_EQ(blocks.evict(), far);
  upcoming = {{0, 4}, {1, 1}};
  policy->begin_request({.upcoming = upcoming});
  EXPECT_EQ(blocks.evict(), near);
  EXPECT_EQ(blocks.evict(), shared);
}

TEST(missing_inputs, stop_the_replay_with_the_reason) {
  access_columns chains = testing::chain_columns(10, 1);
  access_columns objects = testing::object_columns(10, 5, 1, 1);
  auto reason = [](const access_columns& columns, const char* policy, replay_rule rule) {
    try {
      replay(columns, policy, {}, 5, rule, "test");
    } catch (const input_error& refused) {
      return std::string{refused.what()};
    }
    return std::string{"taken"};
  };
  auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(reason(chains, "t_lru", replay_rule::prefix), "sessions"));
  EXPECT_TRUE(says(reason(chains, "workload_aware", replay_rule::prefix), "categories"));
  EXPECT_TRUE(says(reason(chains, "retention", replay_rule::prefix), "hints"));
  EXPECT_TRUE(says(reason(chains, "kvflow", replay_rule::prefix), "step graph"));
  EXPECT_TRUE(says(reason(objects, "cost_aware", replay_rule::flat), "chains"));
  EXPECT_TRUE(says(reason(objects, "pgdsf", replay_rule::flat), "chains"));
  chains.arrivals.clear();
  EXPECT_TRUE(says(reason(chains, "ttl", replay_rule::prefix), "arrival times"));
}

}  // namespace
}  // namespace refrain
