// The guard names what a policy does wrong, and the conformance kit finds it: each check is shown a
// policy that breaks just its rule.
#include "policies/guard.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/check.hpp"
#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

/// First in, first out, until a test puts something else in the place of one of its answers.
struct pliable : eviction {
  pliable(const parameters&, const eviction_setup& setup) : order{setup.slots, 1} {}

  bool on_miss(const entry_view& entry) override { return !ask || ask(entry); }
  void on_insert(slot_id slot, const entry_view&) override {
    order.push_front(0, slot);
    newest = slot;
  }
  void on_hit(slot_id, const entry_view&) override {}
  void on_pin(slot_id slot) override {
    order.detach(slot);
    pinned = slot;
  }
  void on_unpin(slot_id slot) override { order.push_front(0, slot); }
  slot_id victim() override { return choose ? choose(*this) : order.back(0); }
  void on_remove(slot_id slot) override {
    order.erase(slot);
    gone = slot;
  }

  slot_lists order;
  slot_id newest = no_slot;
  slot_id pinned = no_slot;
  slot_id gone = no_slot;
  std::function<bool(const entry_view&)> ask;
  std::function<slot_id(pliable&)> choose;
};

using change = std::function<void(pliable&)>;

/// An entry that is in no registry, whose policies are changed as a test wants.
eviction_entry entry_with(change apply) {
  eviction_entry entry{.info = {.kind = "eviction",
                                .name = "pliable",
                                .summary = "what a test makes of it",
                                .source = "this test"}};
  entry.needs = &pliable::needs;
  entry.make = [apply](const parameters& values,
                       const eviction_setup& setup) -> std::unique_ptr<eviction> {
    auto policy = std::make_unique<pliable>(values, setup);
    apply(*policy);
    return policy;
  };
  auto plain = [](bool flat) {
    return [flat](const access_columns& columns, std::int64_t capacity, const parameters& values,
                  gate_keeper gate) {
      replay_loop<pliable> loop{columns, capacity, values, gate};
      return flat ? loop.run_flat() : loop.run_prefix();
    };
  };
  entry.replay_flat = plain(true);
  entry.replay_prefix = plain(false);
  return entry;
}

check_report report_of(std::string_view name, const eviction_entry& entry) {
  for (const policy_check& check : policy_checks()) {
    if (check.name == name) {
      return run_check(check, {&entry});
    }
  }
  ADD_FAILURE() << "there is no check " << name;
  return {};
}

void expect_failure(std::string_view check, const eviction_entry& entry, const std::string& text) {
  check_report report = report_of(check, entry);
  EXPECT_EQ(report.outcome, check_outcome::failed) << check;
  EXPECT_NE(report.reason.find(text), std::string::npos) << check << ": " << report.reason;
}

TEST(conformance_kit, passes_a_policy_that_does_nothing_wrong) {
  eviction_entry entry = entry_with([](pliable&) {});
  for (const policy_check& check : policy_checks()) {
    check_report report = run_check(check, {&entry});
    EXPECT_NE(report.outcome, check_outcome::failed) << check.name << ": " << report.reason;
  }
}

TEST(conformance_kit, finds_victims_that_are_pinned_gone_or_out_of_range) {
  auto choosing = [](auto choose) {
    return entry_with([choose](pliable& policy) { policy.choose = choose; });
  };
  for (const char* check : {"random_operations", "tiny_caches"}) {
    expect_failure(check, choosing([](pliable& p) { return p.pinned; }), "which is pinned");
    expect_failure(check, choosing([](pliable&) { return slot_id{4'000}; }), "out of range");
    expect_failure(check, choosing([](pliable&) { return no_slot; }), "named none though");
    expect_failure(check, choosing([](pliable&) -> slot_id { throw std::logic_error{"oh"}; }),
                   "policy \"pliable\": victim() threw: oh");
    expect_failure(check, choosing([](pliable&) -> slot_id { throw 1; }),
                   "victim() threw something that is no std::exception");
  }
}

TEST(conformance_kit, finds_choices_that_differ_the_second_time) {
  static int made = 0;
  expect_failure("same_seed_same_choices", entry_with([](pliable& policy) {
                   if (++made % 2 == 0) {
                     policy.choose = [](pliable& p) { return p.order.front(0); };
                   }
                 }),
                 "chose other victims");
}

TEST(conformance_kit, finds_a_policy_that_never_chooses) {
  expect_failure("same_seed_same_choices", entry_with([](pliable& policy) {
                   policy.ask = [](const entry_view&) { return false; };
                 }),
                 "evicted nothing");
}

TEST(conformance_kit, finds_allocations) {
  if (!counts_allocations()) {
    GTEST_SKIP() << "this build does not count them";
  }
  expect_failure("no_allocation", entry_with([](pliable& policy) {
                   policy.choose = [](pliable& p) {
                     static std::vector<int> grows;
                     grows.push_back(1);
                     return p.order.back(0);
                   };
                 }),
                 "first in victim()");
}

TEST(conformance_kit, finds_misses_where_everything_fits) {
  expect_failure("compulsory_misses", entry_with([](pliable& policy) {
                   policy.ask = [](const entry_view& entry) { return entry.key.get() % 5 != 0; };
                 }),
                 "are compulsory");
}

TEST(conformance_kit, finds_counts_that_beat_the_bound) {
  eviction_entry entry = entry_with([](pliable&) {});
  entry.info.plugin = "lies.so";  // so that its own loops are taken
  entry.replay_flat =
      entry.replay_prefix = [](const access_columns& columns, std::int64_t, const parameters&,
                               gate_keeper) { return replay_result{.hits = columns.keys.size()}; };
  expect_failure("bound_flat", entry, "fewer than");
  expect_failure("bound_chains", entry, "fewer than");
  expect_failure("bound_sizes", entry, "fewer than");
}

TEST(conformance_kit, finds_a_loop_of_its_own_that_counts_otherwise) {
  eviction_entry entry = entry_with([](pliable&) {});
  entry.replay_prefix = [](const access_columns&, std::int64_t, const parameters&, gate_keeper) {
    return replay_result{.hits = 1};
  };
  expect_failure("same_counts", entry, "1 hits in the loop over its own type");
}

TEST(conformance_kit, finds_what_is_not_declared) {
  eviction_entry entry = entry_with([](pliable&) {});
  entry.info.source = "";
  expect_failure("declaration", entry, "source is empty");
  entry = entry_with([](pliable&) {});
  entry.info.parameters = {{"size", parameter_type::integer, "0", "how much", 1, 9}};
  expect_failure("declaration", entry, "size");
}

TEST(guard, refuses_a_slot_that_has_left) {
  parameters none;
  eviction_entry entry =
      entry_with([](pliable& policy) { policy.choose = [](pliable& p) { return p.gone; }; });
  guarded_eviction policy{
      "FILE: policy \"NAME\"", entry.make(none, {.slots = 4, .capacity = 4}), {}, 4, false};
  cache<eviction> blocks{policy, 4, 4};
  slot_id first = blocks.insert({.key = block_key{1}});
  blocks.insert({.key = block_key{2}});
  blocks.remove(first);
  try {
    blocks.evict();
    FAIL() << "nothing was thrown";
  } catch (const run_error& error) {
    EXPECT_STREQ(error.what(),
                 "FILE: policy \"NAME\": wrong victim: victim() named slot 0, which is not "
                 "resident");
  }
}

TEST(guard, lets_leaf_scope_name_no_victim_only_where_all_have_children) {
  auto none = [](pliable& policy) { policy.choose = [](pliable&) { return no_slot; }; };
  eviction_entry entry = entry_with(none);
  guarded_eviction policy{
      "it", entry.make({}, {.slots = 4, .capacity = 4}), {.tree = true}, 4, false};
  cache<eviction> blocks{policy, 4, 4};
  slot_id parent = blocks.insert({.key = block_key{1}});
  slot_id child = blocks.insert({.key = block_key{2}, .depth = 1, .parent = parent});
  blocks.pin(child);
  EXPECT_EQ(blocks.evict(), no_slot);
  blocks.unpin(child);
  EXPECT_THROW(blocks.evict(), run_error);
}

TEST(guard, counts_alike_and_passes_input_errors_on) {
  eviction_entry entry = guarded(registry<eviction_entry>::find("sieve", "test"), "it", false);
  checked_policy subject{&entry};
  check_report report = run_check(policy_checks().back(), subject);
  EXPECT_EQ(report.outcome, check_outcome::passed) << report.reason;
  call_guard guard{"it", false};
  EXPECT_THROW(guard.call("needs",
                          []() -> int {
                            throw input_error{"here", "wrong"};
                          }),
               input_error);
}

TEST(guard, refuses_answers_of_the_smaller_kinds_that_are_out_of_range) {
  struct far_away : routing {
    std::size_t choose(const routed_request&, std::span<const executor_view> all) override {
      return all.size();
    }
  };
  struct greedy : reuse {
    bool shares() const override { return true; }
    std::int64_t plan(const reuse_offer& offer) override { return offer.leading_blocks + 1; }
  };
  struct idle : batching {
    token_count token_budget() const override { return token_count{0}; }
    std::int64_t max_sequences() const override { return 0; }
  };
  struct roomy : admission {
    std::int64_t limit(std::int64_t capacity) const override { return capacity + 1; }
  };
  executor_view one;
  auto routes = guarded(
      routing_entry{.make = [](const parameters&) { return std::make_unique<far_away>(); }}, "it");
  EXPECT_THROW(routes.make({})->choose({}, {&one, 1}), run_error);
  auto reuses = guarded(
      reuse_entry{.make = [](const parameters&) { return std::make_unique<greedy>(); }}, "it");
  EXPECT_TRUE(reuses.make({})->shares());
  EXPECT_THROW(reuses.make({})->plan({.leading_blocks = 3}), run_error);
  auto batches = guarded(
      batching_entry{.make = [](const parameters&) { return std::make_unique<idle>(); }}, "it");
  EXPECT_THROW(batches.make({})->token_budget(), run_error);
  EXPECT_THROW(batches.make({})->max_sequences(), run_error);
  auto admits = guarded(
      admission_entry{.make = [](const parameters&,
                                 const admission_setup&) { return std::make_unique<roomy>(); }},
      "it");
  EXPECT_THROW(admits.make({}, {})->limit(5), run_error);
}

TEST(policy_names, are_snake_case) {
  for (const char* good : {"lru", "s3fifo", "two_q", "a", "x9_1"}) {
    EXPECT_TRUE(is_policy_name(good)) << good;
  }
  for (const char* bad : {"", "Lru", "2q", "_a", "a_", "a__b", "a-b", "a:b", "a b", "\xc3\xa9"}) {
    EXPECT_FALSE(is_policy_name(bad)) << bad;
  }
}

}  // namespace
}  // namespace refrain
