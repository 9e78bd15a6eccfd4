// Published rates to three digits, where no exact count was published: the policies of a radix tree
// (leaf scope) with and without history, and the look-ahead queue. Conversation and synthetic trace
// of Mooncake, rule prefix.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
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
  const char* admission = "always";
  given_parameters gate = {};
};

void PrintTo(const published_rate& p, std::ostream* out) {
  *out << p.policy << " on " << p.trace << " at " << p.capacity;
}

const access_columns& loaded(const std::string& path) {
  static std::map<std::string, access_columns> all;
  auto found = all.find(path);
  if (found == all.end()) {
    found = all.emplace(path, read_columns(*open_trace("mooncake", {.path = path}))).first;
  }
  return found->second;
}

class published : public ::testing::TestWithParam<published_rate> {};

TEST_P(published, rate_is_equal_to_three_digits) {
  const published_rate& p = GetParam();
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + p.trace + "_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the Mooncake traces are not here";
  }
  const access_columns& columns = loaded(path);
  replay_result result = replay(columns, p.policy, p.given, p.capacity, replay_rule::prefix, "test",
                                {p.admission, p.gate});
  double rate = static_cast<double>(result.hits) / static_cast<double>(result.accesses);
  EXPECT_NEAR(rate, p.rate, 0.0005);
}

const given_parameters leaf = {{"scope", "leaf"}};
const given_parameters kept = {{"history", "kept"}};
const given_parameters leaf_kept = {{"scope", "leaf"}, {"history", "kept"}};
const given_parameters thousand = {{"scope", "leaf"}, {"half_life_requests", "1000"}};
const given_parameters thousand_kept = {
    {"scope", "leaf"}, {"history", "kept"}, {"half_life_requests", "1000"}};
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
                      published_rate{"conversation", "s3fifo", {}, 1'000, .056},
                      published_rate{"conversation", "s3fifo", {}, 10'000, .195},
                      published_rate{"conversation", "s3fifo", {}, 100'000, .362},
                      published_rate{"synthetic", "s3fifo", {}, 1'000, .087},
                      published_rate{"synthetic", "s3fifo", {}, 10'000, .416},
                      published_rate{"conversation", "arc", {}, 1'000, .053},
                      published_rate{"conversation", "arc", {}, 10'000, .223},
                      published_rate{"conversation", "arc", {}, 100'000, .363},
                      published_rate{"synthetic", "arc", {}, 1'000, .093},
                      published_rate{"synthetic", "arc", {}, 10'000, .434},
                      published_rate{"conversation", "sieve", {}, 1'000, .048},
                      published_rate{"conversation", "sieve", {}, 10'000, .132},
                      published_rate{"conversation", "sieve", {}, 100'000, .363},
                      published_rate{"synthetic", "sieve", {}, 1'000, .042},
                      published_rate{"synthetic", "sieve", {}, 10'000, .361},
                      published_rate{"conversation", "slru", leaf, 1'000, .045},
                      published_rate{"conversation", "slru", leaf, 10'000, .182},
                      published_rate{"synthetic", "slru", leaf, 1'000, .083},
                      published_rate{"synthetic", "slru", leaf, 10'000, .422},
                      published_rate{"conversation", "slru", leaf_kept, 1'000, .067},
                      published_rate{"conversation", "slru", leaf_kept, 10'000, .184},
                      published_rate{"conversation", "slru", leaf_kept, 100'000, .364},
                      published_rate{"synthetic", "slru", leaf_kept, 1'000, .094},
                      published_rate{"synthetic", "slru", leaf_kept, 10'000, .415},
                      published_rate{"conversation", "gdsf", leaf, 1'000, .045},
                      published_rate{"conversation", "gdsf", leaf, 10'000, .218},
                      published_rate{"synthetic", "gdsf", leaf, 1'000, .089},
                      published_rate{"synthetic", "gdsf", leaf, 10'000, .429},
                      published_rate{"conversation", "gdsf", leaf_kept, 1'000, .054},
                      published_rate{"conversation", "gdsf", leaf_kept, 10'000, .232},
                      published_rate{"conversation", "gdsf", leaf_kept, 100'000, .363},
                      published_rate{"synthetic", "gdsf", leaf_kept, 1'000, .090},
                      published_rate{"synthetic", "gdsf", leaf_kept, 10'000, .437},
                      published_rate{"conversation", "lru", {}, 1'000, .061, "second_sight"},
                      published_rate{"conversation", "lru", {}, 10'000, .205, "second_sight"},
                      published_rate{"synthetic", "lru", {}, 1'000, .086, "second_sight"},
                      published_rate{"synthetic", "lru", {}, 10'000, .416, "second_sight"},
                      published_rate{"conversation", "lru", {}, 1'000, .057, "second_sight", kept},
                      published_rate{"conversation", "lru", {}, 10'000, .206, "second_sight", kept},
                      published_rate{
                          "conversation", "lru", {}, 100'000, .213, "second_sight", kept},
                      published_rate{"synthetic", "lru", {}, 1'000, .090, "second_sight", kept},
                      published_rate{"synthetic", "lru", {}, 10'000, .425, "second_sight", kept},
                      published_rate{"conversation", "ttl", {{"ttl", "60s"}}, 182'790, .103},
                      published_rate{"conversation", "ttl", {{"ttl", "120s"}}, 182'790, .192},
                      published_rate{"conversation", "ttl", {{"ttl", "300s"}}, 182'790, .288},
                      published_rate{"conversation", "ttl", {{"ttl", "600s"}}, 182'790, .343},
                      published_rate{"conversation", "ttl", {{"ttl", "900s"}}, 182'790, .355},
                      published_rate{"conversation", "ttl", {{"ttl", "1800s"}}, 182'790, .363},
                      published_rate{"synthetic", "ttl", {{"ttl", "600s"}}, 43'924, .634},
                      published_rate{"conversation", "pgdsf", {}, 1'000, .044},
                      published_rate{"conversation", "pgdsf", {}, 10'000, .212},
                      published_rate{"synthetic", "pgdsf", {}, 1'000, .088},
                      published_rate{"synthetic", "pgdsf", {}, 10'000, .437},
                      published_rate{"conversation", "pgdsf", kept, 1'000, .055},
                      published_rate{"conversation", "pgdsf", kept, 10'000, .223},
                      published_rate{"conversation", "pgdsf", kept, 100'000, .362},
                      published_rate{"synthetic", "pgdsf", kept, 1'000, .092},
                      published_rate{"synthetic", "pgdsf", kept, 10'000, .443},
                      published_rate{"conversation", "two_q", {}, 1'000, .054},
                      published_rate{"conversation", "two_q", {}, 10'000, .184},
                      published_rate{"conversation", "two_q", {}, 100'000, .356},
                      published_rate{"synthetic", "two_q", {}, 1'000, .086},
                      published_rate{"synthetic", "two_q", {}, 10'000, .419},
                      published_rate{"conversation", "lrfu", thousand, 1'000, .049},
                      published_rate{"conversation", "lrfu", thousand, 10'000, .219},
                      published_rate{"synthetic", "lrfu", thousand, 1'000, .069},
                      published_rate{"synthetic", "lrfu", thousand, 10'000, .426},
                      published_rate{"conversation", "lrfu", thousand_kept, 1'000, .082},
                      published_rate{"conversation", "lrfu", thousand_kept, 10'000, .226},
                      published_rate{"conversation", "lrfu", thousand_kept, 100'000, .364},
                      published_rate{"synthetic", "lrfu", thousand_kept, 1'000, .086},
                      published_rate{"synthetic", "lrfu", thousand_kept, 10'000, .439},
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
