// Published rates to three digits, where no exact count was published: the policies of a radix tree
// (leaf scope) with and without history, and the look-ahead queue. Conversation and synthetic trace
// of Mooncake, rule prefix.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "policies/replay.hpp"

namespace refrain {
namespace {

struct published_rate {
  const char* trace;
  const char* policy;
  given_parameters given;
  std::int64_t capacity;
  double rate;
};

void PrintTo(const published_rate& p, std::ostream* out) {
  *out << p.policy << " on " << p.trace << " at " << p.capacity;
}

class published : public ::testing::TestWithParam<published_rate> {};

TEST_P(published, rate_is_equal_to_three_digits) {
  const published_rate& p = GetParam();
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + p.trace + "_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the Mooncake traces are not here";
  }
  access_columns columns = read_columns(*open_trace("mooncake", {.path = path}));
  replay_result result =
      replay(columns, p.policy, p.given, p.capacity, replay_rule::prefix, "test");
  double rate = static_cast<double>(result.hits) / static_cast<double>(result.accesses);
  EXPECT_NEAR(rate, p.rate, 0.0005);
}

const given_parameters leaf = {{"scope", "leaf"}};
const given_parameters leaf_kept = {{"scope", "leaf"}, {"history", "kept"}};
const given_parameters wide = {{"window", "512"}};

INSTANTIATE_TEST_SUITE_P(
    rates, published,
    ::testing::Values(published_rate{"conversation", "lfu", leaf, 1'000, .048},
                      published_rate{"conversation", "lfu", leaf, 10'000, .132},
                      published_rate{"synthetic", "lfu", leaf, 1'000, .050},
                      published_rate{"synthetic", "lfu", leaf, 10'000, .362},
                      published_rate{"conversation", "lfu", leaf_kept, 1'000, .077},
                      published_rate{"conversation", "lfu", leaf_kept, 10'000, .187},
                      published_rate{"conversation", "lfu", leaf_kept, 100'000, .363},
                      published_rate{"synthetic", "lfu", leaf_kept, 1'000, .085},
                      published_rate{"synthetic", "lfu", leaf_kept, 10'000, .422},
                      published_rate{"conversation", "look_ahead_lru", {}, 1'000, .082},
                      published_rate{"conversation", "look_ahead_lru", {}, 10'000, .234},
                      published_rate{"conversation", "look_ahead_lru", {}, 100'000, .364},
                      published_rate{"synthetic", "look_ahead_lru", {}, 1'000, .205},
                      published_rate{"synthetic", "look_ahead_lru", {}, 10'000, .469},
                      published_rate{"conversation", "look_ahead_lru", wide, 1'000, .127},
                      published_rate{"conversation", "look_ahead_lru", wide, 10'000, .282},
                      published_rate{"conversation", "look_ahead_lru", wide, 100'000, .364},
                      published_rate{"synthetic", "look_ahead_lru", wide, 1'000, .153},
                      published_rate{"synthetic", "look_ahead_lru", wide, 10'000, .540}));

}  // namespace
}  // namespace refrain
