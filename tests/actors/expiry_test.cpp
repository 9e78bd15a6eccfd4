// Blocks whose time is over, in a run.
#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::by_request;
using testing::random_chains;
using testing::same;
using testing::small_plan;
using testing::small_workload;

class a_hard_ttl : public testing::run_test {
 protected:
  /// One prompt of four blocks, asked for at these seconds.
  static small_workload asked_at(const std::vector<double>& seconds) {
    small_workload w;
    w.info = {.format = "memory",
              .block_tokens = token_count{16},
              .has_chains = true,
              .id_scope = "trace"};
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      request r{};
      r.id = request_id{i};
      r.session = session_id{i};
      r.arrival = from_seconds(seconds[i]);
      r.input_tokens = token_count{64};
      r.output_tokens = token_count{1};
      for (std::uint64_t b = 1; b <= 4; ++b) {
        r.blocks.push_back(block_key{b});
      }
      w.rows.push_back(std::move(r));
    }
    return w;
  }
};

TEST_F(a_hard_ttl, of_a_long_life_is_lru) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 60, 16, 200, 0.05);
    std::int64_t blocks = 20 + static_cast<std::int64_t>(seed);
    table lru = run(w.plan(), small_plan(blocks, 16, "prefix", "lru"));
    EXPECT_TRUE(
        same(lru, run(w.plan(), small_plan(blocks, 16, "prefix", "ttl", {{"ttl", "1000000s"}}))));
    EXPECT_GT(testing::sum(lru, "hit_tokens"), 0);
  }
}

TEST_F(a_hard_ttl, lets_nobody_find_what_is_over_its_time) {
  small_workload w = asked_at({0, 5, 14, 25, 34});
  auto hits = [&](const given_parameters& given) {
    return by_request<std::int64_t>(run(w.plan(), small_plan(100, 16, "prefix", "ttl", given)),
                                    "hit_tokens");
  };
  // A prompt's last token is always computed.
  EXPECT_EQ(hits({{"ttl", "10s"}}), (std::vector<std::int64_t>{0, 63, 63, 0, 63}));
  EXPECT_EQ(hits({{"ttl", "10s"}, {"from", "insertion"}}),
            (std::vector<std::int64_t>{0, 63, 0, 0, 63}));
  EXPECT_EQ(hits({{"ttl", "10s"}, {"mode", "soft"}}),
            (std::vector<std::int64_t>{0, 63, 63, 63, 63}));
  table t = run(w.plan(), small_plan(100, 16, "prefix", "ttl", {{"ttl", "10s"}}));
  EXPECT_EQ(by_request<std::int64_t>(t, "lost_tokens_evicted_gpu")[3], 64);
}

TEST_F(a_hard_ttl, leaves_the_memory_empty_while_nobody_asks) {
  small_workload w = asked_at({0, 60});
  contender_plan p = small_plan(100, 16, "prefix", "ttl", {{"ttl", "10s"}});
  p.sample_every = from_seconds(1);
  run(w.plan(), p);
  table rows = results_reader{folder_ / "run.h5"}.read(0, "executors");
  std::int64_t empty = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    double time = rows.at("time_s").reals()[i];
    std::int64_t cached = rows.at("cached_blocks").integers()[i];
    EXPECT_EQ(cached, time < 10.5 || time > 60.005 ? 4 : 0) << time;
    empty += cached == 0 ? 1 : 0;
  }
  EXPECT_GT(empty, 0);
}

TEST_F(a_hard_ttl, hands_what_is_over_its_time_to_the_tier_below) {
  small_workload w = asked_at({0, 20});
  contender_plan p = small_plan(100, 16, "prefix", "ttl", {{"ttl", "10s"}});
  tier_plan host{.kind = tier_kind::host, .name = "host"};
  host.capacity = byte_count{100 * p.block_bytes()};
  host.load.bytes_per_s = host.store.bytes_per_s = 1e12;
  host.own_links = true;
  host.loading = tier_load::always;
  host.eviction = testing::choose<eviction_entry>("lru");
  p.tiers = {host};
  table t = run(w.plan(), p);
  EXPECT_EQ(by_request<std::int64_t>(t, "hit_tokens_host")[1], 63);
}

}  // namespace
}  // namespace refrain
