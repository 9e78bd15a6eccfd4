// Why tokens were computed, in whole small runs.
#include <gtest/gtest.h>

#include "actors/lost_tokens.hpp"
#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::by_request;
using testing::random_chains;
using testing::small_plan;
using testing::small_workload;
using testing::sum;

class attribution : public testing::run_test {
 protected:
  static std::int64_t lost(const table& t, lost_cause cause) {
    return sum(t, "lost_tokens_" + std::string{name_of(cause)});
  }
};

TEST_F(attribution, the_causes_of_every_request_sum_to_its_computed_tokens) {
  const std::string policies[] = {"lru", "fifo", "infinite", "s3fifo"};
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 12u : 40u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_chains(seed, 40, 4, 60, 0.002);
    contender_plan p = small_plan(24 + static_cast<std::int64_t>(seed), 4,
                                  seed % 8 == 0 ? "none" : "prefix", policies[seed % 4]);
    p.executors = 1 + static_cast<std::int64_t>(seed % 3);
    table t = run(w.plan(), p);
    for (std::size_t i = 0; i < t.rows(); ++i) {
      std::int64_t all = 0;
      for (std::size_t cause = 0; cause < lost_causes; ++cause) {
        std::string name = "lost_tokens_" + std::string{name_of(static_cast<lost_cause>(cause))};
        std::int64_t tokens = t.at(name).integers()[i];
        EXPECT_GE(tokens, 0) << name;
        all += tokens;
      }
      EXPECT_EQ(all, t.at("computed_tokens").integers()[i]) << "row " << i;
    }
    if (p.executors == 1) {
      EXPECT_EQ(lost(t, lost_cause::router), 0);
    }
  }
}

TEST_F(attribution, tells_what_was_never_seen_from_what_is_elsewhere_evicted_or_on_its_way) {
  small_workload w;
  w.info = {
      .format = "memory", .block_tokens = token_count{16}, .has_chains = true, .id_scope = "trace"};
  auto add = [&w](double at, std::uint64_t chain, std::int64_t blocks) {
    request r{};
    r.id = request_id{w.rows.size()};
    r.session = session_id{w.rows.size()};
    r.arrival = from_seconds(at);
    r.input_tokens = token_count{blocks * 16};
    r.output_tokens = token_count{1};
    for (std::int64_t b = 0; b < blocks; ++b) {
      r.blocks.push_back(block_key{mix64(chain, static_cast<std::uint64_t>(b))});
    }
    w.rows.push_back(r);
  };
  add(0, 1, 4);   // never seen
  add(10, 1, 4);  // all there but the last token
  add(20, 2, 9);  // pushes the first out
  add(30, 1, 4);  // evicted
  add(40, 3, 2);
  add(40, 3, 2);  // at the same moment: on its way
  table t = run(w.plan(), small_plan(9, 16, "prefix", "lru"));
  EXPECT_EQ(by_request<std::int64_t>(t, "lost_tokens_never_seen")[0], 64);
  EXPECT_EQ(by_request<std::int64_t>(t, "lost_tokens_last_token")[1], 1);
  EXPECT_EQ(by_request<std::int64_t>(t, "lost_tokens_evicted_gpu")[3], 64);
  EXPECT_EQ(by_request<std::int64_t>(t, "lost_tokens_not_visible")[5], 32);
  contender_plan two = small_plan(100, 16, "prefix", "lru");
  two.executors = 2;
  table apart = run(w.plan(), two);
  EXPECT_EQ(by_request<std::int64_t>(apart, "lost_tokens_router")[1], 64);
}

}  // namespace
}  // namespace refrain
