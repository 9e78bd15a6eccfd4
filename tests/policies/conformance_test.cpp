// What every registered eviction policy must keep to, whatever it does: it is found by itself. The
// checks are those of `refrain check`.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policies/cache.hpp"
#include "policies/check.hpp"

namespace refrain {
namespace {

std::vector<std::string> eviction_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry<eviction_entry>::all()) {
    names.emplace_back(name);
  }
  return names;
}

struct named_check {
  std::string policy;
  const policy_check* check;
};

void PrintTo(const named_check& named, std::ostream* out) {
  *out << named.policy << " and " << named.check->rule;
}

std::vector<named_check> every_check() {
  std::vector<named_check> all;
  for (const std::string& policy : eviction_names()) {
    for (const policy_check& check : policy_checks()) {
      all.push_back({policy, &check});
    }
  }
  return all;
}

class conformance : public ::testing::TestWithParam<named_check> {};

TEST_P(conformance, holds) {
  const auto& [policy, check] = GetParam();
  checked_policy subject{&registry<eviction_entry>::find(policy, "test")};
  check_report report = run_check(*check, subject);
  if (report.outcome == check_outcome::skipped) {
    GTEST_SKIP() << report.reason;
  }
  EXPECT_EQ(report.outcome, check_outcome::passed) << report.reason << "; seed " << subject.seed;
}

TEST(every_eviction_policy, can_be_made_for_no_room_at_all) {
  for (const std::string& name : eviction_names()) {
    SCOPED_TRACE(name);
    const auto& entry = registry<eviction_entry>::find(name, "test");
    future none;
    EXPECT_NE(entry.make({entry.info.parameters, {}, "test"},
                         {.slots = 0, .capacity = 0, .ahead = &none}),
              nullptr);
  }
}

std::string own_name(const ::testing::TestParamInfo<named_check>& test) {
  return test.param.policy + "_" + std::string{test.param.check->name};
}

INSTANTIATE_TEST_SUITE_P(every_eviction_policy, conformance, ::testing::ValuesIn(every_check()),
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

TEST(leaf_scope, passes_the_same_checks_with_and_without_history) {
  for (const char* name : {"lfu", "lfu_da", "gdsf", "slru", "lrfu"}) {
    for (const char* history : {"forgotten", "kept"}) {
      checked_policy leaf{&registry<eviction_entry>::find(name, "test"),
                          {{"scope", "leaf"}, {"history", history}}};
      for (const policy_check& check : policy_checks()) {
        check_report report = run_check(check, leaf);
        EXPECT_NE(report.outcome, check_outcome::failed)
            << name << ", history " << history << ", " << check.name << ": " << report.reason;
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
