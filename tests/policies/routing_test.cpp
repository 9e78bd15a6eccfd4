// What each routing policy chooses from what it is shown.
#include "policies/routing.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace refrain {
namespace {

std::unique_ptr<routing> make(std::string_view name, const given_parameters& given = {}) {
  const routing_entry& entry = registry<routing_entry>::find(name, "test");
  return entry.make(parameters{entry.info.parameters, given, "test"});
}

executor_view loaded(std::int64_t requests, std::int64_t tokens, std::int64_t matched = 0) {
  executor_view e;
  e.outstanding_requests = requests;
  e.outstanding_tokens = token_count{tokens};
  e.matched_tokens = token_count{matched};
  return e;
}

routed_request prompt_of(std::int64_t tokens, std::uint64_t session = 0, bool last_turn = false) {
  return {request_id{0}, session_id{session}, token_count{tokens}, last_turn};
}

TEST(routing, least_loaded_takes_the_first_of_the_least) {
  std::vector<executor_view> executors{loaded(2, 10), loaded(1, 30), loaded(1, 20), loaded(3, 5)};
  EXPECT_EQ(make("least_loaded")->choose(prompt_of(1), executors), 1u);
  EXPECT_EQ(make("least_loaded", {{"load", "tokens"}})->choose(prompt_of(1), executors), 3u);
}

TEST(routing, prefix_aware_follows_the_best_match_only_above_the_threshold) {
  auto policy = make("prefix_aware");
  std::vector<executor_view> executors{loaded(0, 0, 10), loaded(5, 50, 60), loaded(9, 90, 51)};
  EXPECT_EQ(policy->choose(prompt_of(100), executors), 1u);
  // Exactly half is not above half.
  EXPECT_EQ(policy->choose(prompt_of(120), executors), 0u);
  EXPECT_EQ(make("prefix_aware", {{"threshold", "0.1"}})->choose(prompt_of(120), executors), 1u);
}

TEST(routing, prefix_aware_takes_the_less_loaded_of_equal_matches) {
  std::vector<executor_view> executors{loaded(7, 0, 60), loaded(3, 0, 60), loaded(0, 0, 0)};
  EXPECT_EQ(make("prefix_aware")->choose(prompt_of(100), executors), 1u);
}

TEST(routing, prefix_aware_takes_the_shortest_queue_when_both_balance_limits_are_exceeded) {
  auto policy = make("prefix_aware");
  EXPECT_EQ(policy->choose(prompt_of(100), std::vector{loaded(32, 0, 99), loaded(0, 0)}), 0u);
  EXPECT_EQ(policy->choose(prompt_of(100), std::vector{loaded(33, 0, 99), loaded(0, 0)}), 1u);
  // 35 more than 400 is more than 32, but less than a tenth.
  EXPECT_EQ(policy->choose(prompt_of(100), std::vector{loaded(435, 0, 99), loaded(400, 0)}), 0u);
  EXPECT_EQ(policy->choose(prompt_of(100), std::vector{loaded(441, 0, 99), loaded(400, 0)}), 1u);
}

TEST(routing, cost_based_weighs_queued_and_own_prefill_against_decode) {
  std::vector<executor_view> executors(2);
  executors[0].matched_tokens = token_count{80};
  executors[0].decode_context = token_count{100};
  executors[1].prefill_tokens = token_count{10};
  // 20 + 100 against 10 + 100.
  EXPECT_EQ(make("cost_based")->choose(prompt_of(100), executors), 1u);
  // 40 + 100 against 20 + 200.
  given_parameters prefill{{"prefill_weight", "2"}};
  EXPECT_EQ(make("cost_based", prefill)->choose(prompt_of(100), executors), 0u);
  given_parameters no_prefill{{"prefill_weight", "0"}};
  EXPECT_EQ(make("cost_based", no_prefill)->choose(prompt_of(100), executors), 1u);
}

TEST(routing, sticky_keeps_a_session_until_the_threshold_and_moves_it_for_good) {
  auto policy = make("sticky", {{"threshold", "2"}});
  std::vector<executor_view> executors{loaded(1, 0), loaded(0, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5), executors), 1u);
  executors = {loaded(0, 0), loaded(2, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5), executors), 1u);
  EXPECT_EQ(policy->choose(prompt_of(1, 6), executors), 0u);
  executors = {loaded(0, 0), loaded(3, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5), executors), 0u);
  executors = {loaded(1, 0), loaded(0, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5), executors), 0u);
}

TEST(routing, sticky_forgets_a_session_with_its_last_turn) {
  auto policy = make("sticky");
  std::vector<executor_view> executors{loaded(1, 0), loaded(0, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5, true), executors), 1u);
  executors = {loaded(0, 0), loaded(1, 0)};
  EXPECT_EQ(policy->choose(prompt_of(1, 5), executors), 0u);
}

TEST(routing, policies_that_do_not_ask_what_executors_hold_pay_nothing_for_it) {
  for (const char* name : {"round_robin", "least_loaded", "sticky"}) {
    routing_needs needs = registry<routing_entry>::find(name, "test").needs;
    EXPECT_FALSE(needs.matches || needs.progress) << name;
  }
}

}  // namespace
}  // namespace refrain
