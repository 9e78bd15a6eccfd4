// What every registered eviction policy must keep to, whatever it does: it is found by itself.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policies/cache.hpp"
#include "policies/replay.hpp"
#include "tests/policies/columns.hpp"
#include "tests/zipf.hpp"

namespace refrain {
namespace {

std::vector<std::string> eviction_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry<eviction_entry>::all()) {
    names.emplace_back(name);
  }
  return names;
}

bool needs_chains(const eviction_needs& needs) {
  return needs.sessions || needs.queue > 0 || needs.tree || needs.costs || needs.categories ||
         needs.hints || needs.steps;
}

class conformance : public ::testing::TestWithParam<std::string> {
 protected:
  const eviction_entry& entry() { return registry<eviction_entry>::find(GetParam(), "test"); }
  parameters defaults() { return {entry().info.parameters, {}, "test"}; }
};

// A driver as an executor would be: requests over chains of blocks, some still running, every
// victim checked by the cache.
class driver {
 public:
  driver(const eviction_entry& entry, const parameters& values, std::uint64_t seed,
         std::uint32_t slots = 40)
      : slots_{slots},
        random_{seed, "conformance"},
        needs_{entry.needs(values)},
        policy_{entry.make(values, {.slots = slots, .capacity = slots, .ahead = &ahead_})},
        cache_{*policy_, slots, slots} {
    for (std::uint64_t r = 0; r < requests; ++r) {
      chains_.push_back(random_chain());
      ahead_.add(request_id{r}, chains_.back());
    }
  }

  std::uint64_t run() {
    for (std::uint64_t r = 0; r < requests; ++r) {
      if (running_.size() > 3) {
        finish(random_.below(running_.size()));
      }
      serve(r);
      EXPECT_LE(cache_.occupied(), slots_);
      EXPECT_GE(cache_.unpinned(), 0);
    }
    while (!running_.empty()) {
      finish(0);
    }
    return choices_;
  }

 private:
  static constexpr std::uint64_t requests = 400;

  std::vector<block_key> random_chain() {
    std::uint64_t family = random_.below(6);
    std::vector<block_key> chain;
    std::uint64_t shared = random_.below(6);
    std::uint64_t length = shared + 1 + random_.below(4);
    for (std::uint64_t i = 0; i < length; ++i) {
      std::uint64_t branch = i < shared ? 0 : 1 + random_.below(3);
      std::uint64_t before = chain.empty() ? family : chain.back().get();
      chain.push_back(block_key{mix64(before, branch)});
    }
    return chain;
  }

  void serve(std::uint64_t r) {
    policy_->begin_request({.id = request_id{r},
                            .session = session_id{r % 7},
                            .now = sim_time{static_cast<std::int64_t>(r) * 1'000'000'000}});
    std::vector<slot_id> used;
    slot_id parent = no_slot;
    for (std::uint32_t depth = 0; depth < chains_[r].size(); ++depth) {
      entry_view e{.key = chains_[r][depth], .depth = depth, .parent = parent};
      slot_id slot = cache_.find(e.key);
      if (slot != no_slot) {
        policy_->on_hit(slot, e);
      } else if (!policy_->on_miss(e) || (slot = store(e)) == no_slot) {
        break;
      }
      cache_.pin(slot);
      used.push_back(slot);
      parent = slot;
    }
    running_.push_back(std::move(used));
  }

  slot_id store(const entry_view& e) {
    while (!cache_.fits(1)) {
      if (cache_.unpinned() == 0) {
        return no_slot;
      }
      slot_id gone = cache_.evict();  // asserts that the victim is unpinned and resident
      if (gone == no_slot) {
        EXPECT_TRUE(needs_.tree);
        return no_slot;
      }
      choices_ = mix64(choices_, gone.get());
    }
    return cache_.insert(e);
  }

  void finish(std::size_t which) {
    for (std::size_t i = running_[which].size(); i-- > 0;) {
      cache_.unpin(running_[which][i]);
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  std::uint32_t slots_;
  random_stream random_;
  eviction_needs needs_;
  future ahead_;
  std::vector<std::vector<block_key>> chains_;
  std::unique_ptr<eviction> policy_;
  cache<eviction> cache_;
  std::vector<std::vector<slot_id>> running_;
  std::uint64_t choices_ = 0;
};

TEST_P(conformance, never_evicts_a_pinned_block_and_never_exceeds_its_capacity) {
  if (entry().needs(defaults()).unbounded) {
    GTEST_SKIP() << "unbounded";
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    driver{entry(), defaults(), seed}.run();
  }
}

TEST_P(conformance, never_evicts_a_pinned_block_in_a_tiny_cache_full_of_pins) {
  if (entry().needs(defaults()).unbounded) {
    GTEST_SKIP() << "unbounded";
  }
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    driver{entry(), defaults(), seed, static_cast<std::uint32_t>(1 + mix64(seed) % 24)}.run();
  }
}

TEST_P(conformance, makes_the_same_choices_twice) {
  if (entry().needs(defaults()).unbounded) {
    GTEST_SKIP() << "unbounded";
  }
  std::uint64_t first = driver{entry(), defaults(), 7}.run();
  EXPECT_EQ(first, (driver{entry(), defaults(), 7}.run()));
  EXPECT_NE(first, 0u);
}

TEST_P(conformance, has_only_compulsory_misses_when_everything_fits) {
  eviction_needs needs = entry().needs(defaults());
  if (entry().replay_flat == nullptr || needs_chains(needs)) {
    GTEST_SKIP() << "not replayed flat";
  }
  access_columns columns = testing::zipf_columns(20'000, 500, false);
  replay_result result = replay(columns, GetParam(), {}, 500, replay_rule::flat, "test");
  EXPECT_EQ(result.misses(), unique_keys(columns));
}

TEST_P(conformance, is_never_better_than_min_with_bypass) {
  eviction_needs needs = entry().needs(defaults());
  if (entry().replay_flat == nullptr || needs_chains(needs)) {
    GTEST_SKIP() << "not replayed flat";
  }
  access_columns columns = testing::zipf_columns(20'000, 2'000, false);
  for (std::int64_t capacity : {1, 2, 10, 100, 1'000}) {
    replay_result bound = replay(columns, "min_bypass", {}, capacity, replay_rule::flat, "test");
    replay_result mine = replay(columns, GetParam(), {}, capacity, replay_rule::flat, "test");
    EXPECT_GE(mine.misses(), bound.misses()) << "capacity " << capacity;
  }
}

TEST_P(conformance, is_never_better_than_the_bound_on_chains) {
  if (entry().replay_prefix == nullptr) {
    GTEST_SKIP() << "not replayed";
  }
  access_columns columns = testing::chain_columns(600, 5);
  for (std::uint64_t r = 0; r < columns.requests(); ++r) {
    columns.sessions.push_back(session_id{columns.keys[columns.starts[r]].get() % 17});
    columns.categories.push_back(static_cast<std::uint32_t>(r % 3));
    columns.hints.push_back({static_cast<std::int32_t>(r % 4 * 30), sim_time{5'000'000'000}});
    columns.agents.push_back(static_cast<std::uint32_t>(r % 4));
    columns.upcoming.push_back({{static_cast<std::uint32_t>((r + 1) % 4), 1}});
    columns.input_tokens.push_back(columns.block_tokens);
    columns.output_tokens.push_back(token_count{16});
  }
  for (std::int64_t capacity : {1, 3, 20, 100, 400}) {
    replay_result bound =
        replay(columns, "belady_bypass", {}, capacity, replay_rule::prefix, "test");
    replay_result mine = replay(columns, GetParam(), {}, capacity, replay_rule::prefix, "test");
    EXPECT_GE(mine.misses(), bound.misses()) << "capacity " << capacity;
  }
}

TEST_P(conformance, is_never_better_than_the_volume_bound_where_sizes_differ) {
  eviction_needs needs = entry().needs(defaults());
  if (entry().replay_flat == nullptr || needs_chains(needs)) {
    GTEST_SKIP() << "not replayed flat";
  }
  access_columns columns = testing::object_columns(8'000, 800, 20, 2);
  for (std::int64_t capacity : {20, 100, 1'000, 20'000}) {
    replay_result bound = replay(columns, "volume", {}, capacity, replay_rule::flat, "test");
    replay_result mine = replay(columns, GetParam(), {}, capacity, replay_rule::flat, "test");
    EXPECT_GE(mine.misses(), bound.misses()) << "capacity " << capacity;
    EXPECT_GE(mine.missed_size, bound.missed_size) << "capacity " << capacity;
  }
}

std::string own_name(const ::testing::TestParamInfo<std::string>& test) {
  return test.param;
}

INSTANTIATE_TEST_SUITE_P(every_eviction_policy, conformance, ::testing::ValuesIn(eviction_names()),
                         own_name);

TEST(leaf_scope, evicts_children_before_their_parents) {
  for (const char* name : {"lfu", "lfu_da", "gdsf", "slru", "lrfu"}) {
    SCOPED_TRACE(name);
    const auto& entry = registry<eviction_entry>::find(name, "test");
    parameters leaf{entry.info.parameters, {{"scope", "leaf"}}, "test"};
    auto policy = entry.make(leaf, {.slots = 4, .capacity = 4});
    cache<eviction> blocks{*policy, 4, 4};
    policy->begin_request({});
    slot_id head = blocks.insert({.key = block_key{1}});
    slot_id tail = blocks.insert({.key = block_key{2}, .depth = 1, .parent = head});
    for (int i = 0; i < 5; ++i) {
      policy->on_hit(tail, {.key = block_key{2}, .depth = 1, .parent = head});
    }
    EXPECT_EQ(blocks.evict(), tail);
    EXPECT_EQ(blocks.evict(), head);
  }
}

TEST(leaf_scope, runs_through_the_same_driver_with_pins) {
  for (const char* name : {"lfu", "lfu_da", "gdsf", "slru", "lrfu"}) {
    const auto& entry = registry<eviction_entry>::find(name, "test");
    for (const char* history : {"forgotten", "kept"}) {
      parameters leaf{entry.info.parameters, {{"scope", "leaf"}, {"history", history}}, "test"};
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(std::string{name} + " " + std::to_string(seed));
        driver{entry, leaf, seed, static_cast<std::uint32_t>(1 + mix64(seed) % 40)}.run();
      }
    }
  }
}

TEST(fifo_order, an_unpinned_block_is_still_the_oldest) {
  const auto& entry = registry<eviction_entry>::find("fifo", "test");
  auto policy =
      entry.make(parameters{entry.info.parameters, {}, "test"}, {.slots = 3, .capacity = 3});
  cache<eviction> blocks{*policy, 3, 3};
  slot_id first = blocks.insert({.key = block_key{1}});
  slot_id second = blocks.insert({.key = block_key{2}});
  slot_id third = blocks.insert({.key = block_key{3}});
  blocks.pin(first);
  EXPECT_EQ(blocks.evict(), second);
  blocks.unpin(first);
  EXPECT_EQ(blocks.evict(), first);
  EXPECT_EQ(blocks.evict(), third);
}

TEST(lru_order, a_block_touched_before_each_insert_is_never_evicted) {
  const auto& entry = registry<eviction_entry>::find("lru", "test");
  auto policy =
      entry.make(parameters{entry.info.parameters, {}, "test"}, {.slots = 4, .capacity = 4});
  cache<eviction> blocks{*policy, 4, 4};
  slot_id hot = blocks.insert({.key = block_key{1}});
  for (std::uint64_t i = 2; i < 100; ++i) {
    policy->on_hit(hot, {.key = block_key{1}});
    if (!blocks.fits(1)) {
      EXPECT_NE(blocks.evict(), hot);
    }
    blocks.insert({.key = block_key{i}});
  }
}

}  // namespace
}  // namespace refrain
