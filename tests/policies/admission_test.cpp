// Admission in replay: it is asked first, its refusal is final, and bounds stay bounds.
#include "policies/admission.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>

#include "policies/replay.hpp"
#include "tests/policies/columns.hpp"

namespace refrain {
namespace {

using testing::chain_columns;
using testing::object_columns;

std::uint64_t hits(const access_columns& columns, const char* policy, std::int64_t capacity,
                   replay_rule rule, const admission_choice& choice) {
  return replay(columns, policy, {}, capacity, rule, "test", choice).hits;
}

// LRU over chains, the tail touched first, storing only up to the first block never seen.
std::uint64_t plain_second_sight(const access_columns& columns, std::size_t capacity, bool kept) {
  std::deque<block_key> order;  // least recent first
  std::set<block_key> seen;
  std::uint64_t count = 0;
  auto at = [&](block_key key) { return std::find(order.begin(), order.end(), key); };
  for (std::uint64_t r = 0; r < columns.requests(); ++r) {
    std::vector<block_key> chain(
        columns.keys.begin() + static_cast<std::ptrdiff_t>(columns.starts[r]),
        columns.keys.begin() + static_cast<std::ptrdiff_t>(columns.starts[r + 1]));
    std::size_t lead = 0;
    while (lead < chain.size() && at(chain[lead]) != order.end()) {
      ++lead;
    }
    count += lead;
    std::size_t known = 0;
    while (known < chain.size() && seen.contains(chain[known])) {
      ++known;
    }
    seen.insert(chain.begin() + static_cast<std::ptrdiff_t>(known), chain.end());
    for (std::size_t d = chain.size(); d-- > 0;) {
      if (at(chain[d]) != order.end()) {
        order.erase(at(chain[d]));
      } else if (d >= known) {
        continue;
      } else if (order.size() == capacity) {
        if (!kept) {
          seen.erase(order.front());
        }
        order.pop_front();
      }
      order.push_back(chain[d]);
    }
  }
  return count;
}

TEST(admission, second_sight_equals_a_walk_of_every_chain) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    access_columns columns = chain_columns(600, seed);
    for (bool kept : {false, true}) {
      for (std::int64_t capacity : {5, 40, 200}) {
        SCOPED_TRACE(std::to_string(seed) + (kept ? " kept " : " ") + std::to_string(capacity));
        admission_choice choice{"second_sight", {{"history", kept ? "kept" : "forgotten"}}};
        EXPECT_EQ(hits(columns, "lru", capacity, replay_rule::prefix, choice),
                  plain_second_sight(columns, static_cast<std::size_t>(capacity), kept));
      }
    }
  }
}

TEST(admission, every_policy_that_lets_all_in_changes_nothing) {
  access_columns objects = object_columns(8'000, 600, 1, 1);
  access_columns chains = chain_columns(400, 1);
  for (auto choice :
       {admission_choice{"always", {}}, admission_choice{"share_cap", {{"share", "1"}}},
        admission_choice{"size_cap", {{"share", "1"}}}}) {
    EXPECT_EQ(hits(objects, "lru", 50, replay_rule::flat, choice),
              hits(objects, "lru", 50, replay_rule::flat, {}));
  }
  for (auto choice : {admission_choice{"depth_cap", {{"blocks", "1000"}}},
                      admission_choice{"share_cap", {{"share", "1"}}}}) {
    EXPECT_EQ(hits(chains, "lru", 50, replay_rule::prefix, choice),
              hits(chains, "lru", 50, replay_rule::prefix, {}));
  }
}

TEST(admission, a_share_cap_is_a_smaller_cache) {
  access_columns columns = object_columns(8'000, 600, 1, 2);
  EXPECT_EQ(hits(columns, "lru", 100, replay_rule::flat, {"share_cap", {}}),
            hits(columns, "lru", 30, replay_rule::flat, {}));
  EXPECT_EQ(hits(columns, "lru", 100, replay_rule::flat, {"share_cap", {{"share", "0"}}}), 0u);
}

TEST(admission, a_depth_cap_hits_no_deeper_block) {
  access_columns columns = chain_columns(400, 3);
  EXPECT_EQ(hits(columns, "lru", 9'999, replay_rule::prefix, {"depth_cap", {{"blocks", "0"}}}), 0u);
  std::uint64_t heads = 0;
  std::set<block_key> seen;
  for (std::uint64_t r = 0; r < columns.requests(); ++r) {
    heads += seen.insert(columns.keys[columns.starts[r]]).second ? 0 : 1;
  }
  EXPECT_EQ(hits(columns, "lru", 9'999, replay_rule::prefix, {"depth_cap", {{"blocks", "1"}}}),
            heads);
}

TEST(admission, tiny_lfu_keeps_one_timers_out_of_a_small_cache) {
  access_columns columns = object_columns(40'000, 5'000, 1, 4);
  EXPECT_GT(hits(columns, "lru", 50, replay_rule::flat, {"tiny_lfu", {}}),
            hits(columns, "lru", 50, replay_rule::flat, {}));
}

TEST(admission, a_size_cap_refuses_what_is_larger) {
  access_columns columns = object_columns(4'000, 100, 10, 5);
  // One unit is a hundredth of the capacity.
  admission_choice choice{"size_cap", {{"share", "0.01"}}};
  std::set<block_key> seen;
  std::uint64_t small_hits = 0;
  for (std::size_t i = 0; i < columns.keys.size(); ++i) {
    bool first = seen.insert(columns.keys[i]).second;
    small_hits += columns.sizes[i] == 1 && !first ? 1 : 0;
  }
  EXPECT_EQ(hits(columns, "lru", 100, replay_rule::flat, choice), small_hits);
}

TEST(admission, what_cannot_be_told_is_refused_with_the_reason) {
  access_columns columns = object_columns(100, 10, 1, 6);
  EXPECT_THROW(hits(columns, "lru", 5, replay_rule::flat, {"depth_cap", {}}), input_error);
  EXPECT_THROW(hits(columns, "min", 5, replay_rule::flat, {"second_sight", {}}), input_error);
  EXPECT_THROW(hits(columns, "lru", 5, replay_rule::flat, {"second_sigth", {}}), input_error);
}

class every_admission : public ::testing::TestWithParam<std::string> {};

TEST_P(every_admission, never_beats_the_bound) {
  access_columns objects = object_columns(6'000, 500, 1, 7);
  access_columns chains = chain_columns(500, 7);
  admission_needs needs =
      registry<admission_entry>::find(GetParam(), "test")
          .needs(parameters{
              registry<admission_entry>::find(GetParam(), "test").info.parameters, {}, "test"});
  for (std::int64_t capacity : {1, 10, 100}) {
    for (const char* policy : {"lru", "sieve", "arc"}) {
      if (!needs.depth) {
        EXPECT_LE(hits(objects, policy, capacity, replay_rule::flat, {GetParam(), {}}),
                  hits(objects, "min_bypass", capacity, replay_rule::flat, {}));
      }
      EXPECT_LE(hits(chains, policy, capacity, replay_rule::prefix, {GetParam(), {}}),
                hits(chains, "belady_bypass", capacity, replay_rule::prefix, {}));
    }
  }
}

std::vector<std::string> admission_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry<admission_entry>::all()) {
    names.emplace_back(name);
  }
  return names;
}

std::string own_name(const ::testing::TestParamInfo<std::string>& test) {
  return test.param;
}

INSTANTIATE_TEST_SUITE_P(policies, every_admission, ::testing::ValuesIn(admission_names()),
                         own_name);

}  // namespace
}  // namespace refrain
