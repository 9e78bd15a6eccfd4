// No policy beats its bound on any trace of the tests: every registered eviction policy, with its
// defaults and with history and leaf scope where it has them, under both rules.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "policies/replay.hpp"
#include "tests/zipf.hpp"

namespace refrain {
namespace {

const access_columns* trace(const std::string& name) {
  static std::map<std::string, access_columns> all;
  if (auto found = all.find(name); found != all.end()) {
    return &found->second;
  }
  if (name == "S" || name == "SX") {
    return &(all[name] = testing::zipf_columns(200'000, 20'000, name == "SX"));
  }
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + name + "_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    return nullptr;
  }
  return &(all[name] = read_columns(*open_trace("mooncake", {.path = path})));
}

std::uint64_t bound_misses(const std::string& name, std::int64_t capacity, replay_rule rule) {
  static std::map<std::tuple<std::string, std::int64_t, replay_rule>, std::uint64_t> all;
  auto [at, is_new] = all.try_emplace({name, capacity, rule});
  if (is_new) {
    const access_columns& columns = *trace(name);
    at->second = replay(columns, bound_of(columns, rule), {}, capacity, rule, "test").misses();
  }
  return at->second;
}

std::vector<given_parameters> variants(const policy_info& info) {
  std::vector<given_parameters> all = {{}};
  for (const parameter& p : info.parameters) {
    if (p.name == "history") {
      all.push_back({{"history", "kept"}});
    } else if (p.name == "scope") {
      all.push_back({{"scope", "leaf"}});
    }
  }
  return all;
}

class bounded : public ::testing::TestWithParam<std::string> {};

TEST_P(bounded, by_what_no_policy_can_beat) {
  const auto& entry = registry<eviction_entry>::find(GetParam(), "test");
  if (entry.replay_flat == nullptr) {
    GTEST_SKIP() << "not replayed";
  }
  int compared = 0;
  for (auto [name, capacities] : {std::pair{"S", std::vector{200, 2'000, 9'000}},
                                  std::pair{"SX", std::vector{1'000, 6'500, 200'000}},
                                  std::pair{"synthetic", std::vector{100, 1'000, 10'000}},
                                  std::pair{"conversation", std::vector{1'000, 10'000}}}) {
    // With sanitizers two traces and one capacity must do.
    bool small = std::string{name} == "S" || std::string{name} == "synthetic";
    if (trace(name) == nullptr || (refrain_debug_checks && !small)) {
      continue;
    }
    capacities.resize(refrain_debug_checks ? 1 : capacities.size());
    for (const given_parameters& given : variants(entry.info)) {
      for (int capacity : capacities) {
        for (replay_rule rule : {replay_rule::flat, replay_rule::prefix}) {
          SCOPED_TRACE(std::string{name} + " " + std::to_string(capacity));
          std::uint64_t misses = 0;
          try {
            misses = replay(*trace(name), GetParam(), given, capacity, rule, "test").misses();
          } catch (const input_error&) {
            continue;  // the trace cannot tell what the policy needs
          }
          EXPECT_GE(misses, bound_misses(name, capacity, rule));
          ++compared;
        }
      }
    }
  }
  if (compared == 0) {
    GTEST_SKIP() << "no trace here can tell what it needs";
  }
}

std::vector<std::string> eviction_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry<eviction_entry>::all()) {
    names.emplace_back(name);
  }
  return names;
}

std::string own_name(const ::testing::TestParamInfo<std::string>& test) {
  return test.param;
}

INSTANTIATE_TEST_SUITE_P(every_eviction_policy, bounded, ::testing::ValuesIn(eviction_names()),
                         own_name);

}  // namespace
}  // namespace refrain
