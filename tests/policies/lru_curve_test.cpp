// One pass over the stack gives what a replay at every capacity gives.
#include "policies/lru_curve.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/policies/columns.hpp"
#include "tests/zipf.hpp"

namespace refrain {
namespace {

void compare(const access_columns& columns, replay_rule rule, std::int64_t capacity, bool front,
             const lru_curve& curve) {
  given_parameters given = {{"order", front ? "front" : "back"}};
  replay_result one = replay(columns, "lru", given, capacity, rule, "test");
  replay_result all = curve.at(capacity);
  ASSERT_EQ(all.hits, one.hits) << "capacity " << capacity;
  ASSERT_EQ(all.missed_size, one.missed_size);
  ASSERT_EQ(all.hit_tokens, one.hit_tokens);
  ASSERT_EQ(all.accesses, one.accesses);
  ASSERT_EQ(all.total_tokens, one.total_tokens);
}

TEST(lru_curve, equals_a_replay_at_every_capacity_under_both_rules) {
  access_columns chains = testing::chain_columns(300, 1);
  for (bool front : {false, true}) {
    lru_curve prefix{chains, replay_rule::prefix, front};
    lru_curve flat{chains, replay_rule::flat, false};
    for (std::int64_t capacity = 1; capacity < 700; ++capacity) {
      compare(chains, replay_rule::prefix, capacity, front, prefix);
      compare(chains, replay_rule::flat, capacity, false, flat);
    }
  }
}

TEST(lru_curve, equals_replays_where_the_line_of_marks_is_closed_up_many_times) {
  access_columns objects = testing::zipf_columns(300'000, 30'000, false);
  lru_curve curve{objects, replay_rule::flat, false};
  for (std::int64_t capacity : {1, 2, 3, 63, 64, 65, 1'000, 5'000, 20'000, 40'000}) {
    compare(objects, replay_rule::flat, capacity, false, curve);
  }
}

TEST(lru_curve, equals_replays_of_a_real_trace_with_lengths) {
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/synthetic_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the Mooncake traces are not here";
  }
  access_columns columns = read_columns(*open_trace("mooncake", {.path = path}));
  lru_curve curve{columns, replay_rule::prefix, false};
  for (std::int64_t capacity : {1, 10, 100, 1'000, 10'000, 43'924}) {
    compare(columns, replay_rule::prefix, capacity, false, curve);
  }
}

}  // namespace
}  // namespace refrain
