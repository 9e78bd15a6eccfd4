// Rules of single eviction policies that no published count shows.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "policies/cache.hpp"
#include "policies/replay.hpp"
#include "tests/zipf.hpp"

namespace refrain {
namespace {

std::unique_ptr<eviction> make(const char* name, std::uint32_t slots, given_parameters given = {}) {
  const auto& entry = registry<eviction_entry>::find(name, "test");
  return entry.make({entry.info.parameters, given, "test"}, {.slots = slots, .capacity = slots});
}

std::uint64_t misses(const char* policy, const given_parameters& given) {
  static const access_columns columns = testing::zipf_columns(200'000, 20'000, false);
  return replay(columns, policy, given, 2'000, replay_rule::flat, "test").misses();
}

TEST(lrfu_half_life, short_is_lru_and_long_is_lfu) {
  EXPECT_EQ(misses("lrfu", {{"half_life_requests", "0.001"}}), misses("lru", {}));
  EXPECT_EQ(misses("lrfu", {{"half_life_requests", "1e30"}}), misses("lfu", {}));
}

TEST(lrfu_half_life, in_time_is_the_same_as_in_requests_that_come_evenly) {
  std::uint64_t by_requests = misses("lrfu", {{"half_life_requests", "5000"}});
  EXPECT_EQ(misses("lrfu", {{"half_life", "5s"}}), by_requests);
  EXPECT_LT(by_requests, misses("lru", {}));
}

TEST(lrfu_half_life, in_time_needs_a_trace_with_times) {
  access_columns columns = testing::zipf_columns(100, 20, false);
  columns.arrivals.clear();
  EXPECT_THROW(replay(columns, "lrfu", {}, 10, replay_rule::flat, "test"), input_error);
  EXPECT_NO_THROW(
      replay(columns, "lrfu", {{"half_life_requests", "9"}}, 10, replay_rule::flat, "test"));
}

TEST(s3fifo_sizes, an_object_as_large_as_the_small_queue_is_evicted_for_and_dropped) {
  access_columns columns;
  auto access = [&](std::uint64_t key, std::uint32_t size) {
    columns.starts.push_back(columns.keys.size());
    columns.keys.push_back(block_key{key});
    columns.sizes.push_back(size);
  };
  for (std::uint64_t key = 1; key <= 11; ++key) {
    access(key, 9);
  }
  access(100, 10);  // pushes 1 out, stays out itself
  access(100, 10);
  access(101, 11);  // larger than the small queue: pushes nothing out
  access(1, 9);
  access(2, 9);
  columns.starts.push_back(columns.keys.size());
  replay_result result = replay(columns, "s3fifo", {}, 100, replay_rule::flat, "test");
  EXPECT_EQ(result.misses(), 11u + 2 + 1 + 1);
}

TEST(s3fifo_sizes, nothing_is_cached_below_twenty) {
  access_columns columns = testing::zipf_columns(1'000, 5, false);
  EXPECT_EQ(replay(columns, "s3fifo", {}, 19, replay_rule::flat, "test").hits, 0u);
  EXPECT_GT(replay(columns, "s3fifo", {}, 20, replay_rule::flat, "test").hits, 900u);
}

TEST(gdsf_pins, an_unpinned_block_has_the_priority_it_had) {
  auto policy = make("gdsf", 3);
  cache<eviction> blocks{*policy, 3, 3};
  slot_id old = blocks.insert({.key = block_key{1}});
  blocks.pin(old);
  for (std::uint64_t key = 2; key < 20; ++key) {
    while (!blocks.fits(1)) {
      EXPECT_NE(blocks.evict(), old);
    }
    slot_id slot = blocks.insert({.key = block_key{key}});
    policy->on_hit(slot, {.key = block_key{key}});
  }
  blocks.unpin(old);
  EXPECT_EQ(blocks.evict(), old);
}

TEST(arc_pins, an_unpinned_block_is_the_most_recent_of_its_list) {
  auto policy = make("arc", 4);
  cache<eviction> blocks{*policy, 4, 4};
  slot_id slots[4];
  for (std::uint64_t key = 0; key < 4; ++key) {
    slots[key] = blocks.insert({.key = block_key{key}});
  }
  blocks.pin(slots[0]);
  policy->on_hit(slots[0], {.key = block_key{0}});  // to the list of blocks seen oftener
  blocks.pin(slots[1]);
  blocks.unpin(slots[1]);
  blocks.unpin(slots[0]);
  EXPECT_EQ(blocks.evict(), slots[2]);
  EXPECT_EQ(blocks.evict(), slots[3]);
  EXPECT_EQ(blocks.evict(), slots[1]);
  EXPECT_EQ(blocks.evict(), slots[0]);
}

TEST(arc_ghosts, only_what_was_evicted_is_remembered) {
  auto policy = make("arc", 2);
  cache<eviction> blocks{*policy, 2, 2};
  slot_id first = blocks.insert({.key = block_key{1}});
  blocks.insert({.key = block_key{2}});
  blocks.remove(first);  // withdrawn, no victim
  policy->on_miss({.key = block_key{1}});
  slot_id again = blocks.insert({.key = block_key{1}});
  // A ghost would have entered the list of blocks seen oftener, which outlasts block 2's and its
  // own.
  policy->on_hit(blocks.find(block_key{2}), {.key = block_key{2}});
  EXPECT_EQ(blocks.evict(), again);
}

TEST(slru_segments, a_block_hit_twice_outlasts_one_hit_once) {
  auto policy = make("slru", 3);
  cache<eviction> blocks{*policy, 3, 3};
  slot_id twice = blocks.insert({.key = block_key{1}});
  slot_id once = blocks.insert({.key = block_key{2}});
  policy->on_hit(twice, {.key = block_key{1}});
  policy->on_hit(twice, {.key = block_key{1}});
  policy->on_hit(once, {.key = block_key{2}});
  slot_id never_hit = blocks.insert({.key = block_key{3}});
  EXPECT_EQ(blocks.evict(), once);
  EXPECT_EQ(blocks.evict(), never_hit);
  EXPECT_EQ(blocks.evict(), twice);
}

TEST(history, a_count_goes_on_when_its_block_returns_only_if_it_is_kept) {
  for (const char* name : {"gdsf", "slru", "lrfu", "lfu", "lfu_da"}) {
    SCOPED_TRACE(name);
    for (bool kept : {false, true}) {
      given_parameters given = {{"history", kept ? "kept" : "forgotten"}};
      auto policy = make(name, 2, given);
      cache<eviction> blocks{*policy, 2, 2};
      policy->begin_request({});
      slot_id known = blocks.insert({.key = block_key{1}});
      policy->on_hit(known, {.key = block_key{1}});
      policy->on_hit(known, {.key = block_key{1}});
      EXPECT_EQ(blocks.evict(), known);
      slot_id back = blocks.insert({.key = block_key{1}});
      slot_id fresh = blocks.insert({.key = block_key{2}});
      EXPECT_EQ(blocks.evict(), kept ? fresh : back);
    }
  }
}

TEST(memory, is_at_most_eighty_bytes_a_slot) {
  access_columns columns = testing::zipf_columns(600'000, 1'000'000, false);
  columns.block_tokens = token_count{16};
  columns.has_chains = true;  // of one block each
  auto check = [&](const char* name, replay_rule rule) {
    replay_result result = replay(columns, name, {}, 100'000, rule, "test");
    EXPECT_LE(result.peak_bytes, 80u * 100'000u) << name;
    EXPECT_GT(result.misses(), 100'000u);
  };
  for (const char* name : {"fifo", "lru", "sieve", "s3fifo", "arc", "gdsf", "slru", "lrfu", "lfu",
                           "lfu_da", "two_q", "w_tinylfu", "ttl", "lirs", "lhd"}) {
    check(name, replay_rule::flat);
  }
  for (const char* name : {"look_ahead_lru", "cost_aware", "marconi", "pgdsf"}) {
    check(name, replay_rule::prefix);
  }
}

}  // namespace
}  // namespace refrain
