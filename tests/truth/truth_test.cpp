// Every truth line that a registered policy declares, replayed. A new policy's lines are found by
// themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "policies/replay.hpp"
#include "tests/zipf.hpp"

namespace refrain {
namespace {

std::optional<access_columns> mooncake(const std::string& name) {
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + name + "_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  return read_columns(*open_trace("mooncake", {.path = path}));
}

const std::optional<access_columns>& trace(std::string_view name) {
  static std::map<std::string, std::optional<access_columns>, std::less<>> loaded;
  auto found = loaded.find(name);
  if (found == loaded.end()) {
    std::optional<access_columns> columns;
    if (name == "S" || name == "SX") {
      columns = testing::zipf_columns(200'000, 20'000, name == "SX");
    } else {
      columns = mooncake(std::string{name});
    }
    found = loaded.emplace(std::string{name}, std::move(columns)).first;
  }
  return found->second;
}

given_parameters split(std::string_view text) {
  given_parameters given;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    std::size_t equals = item.find('=');
    given.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return given;
}

struct named_line {
  const policy_info* policy;
  truth_line line;
};

void PrintTo(const named_line& named, std::ostream* out) {
  *out << named.policy->name << " on " << named.line.trace << " at " << named.line.capacity;
}

std::vector<named_line> lines() {
  std::vector<named_line> all;
  for (const policy_info* policy : all_policies()) {
    for (const truth_line& line : policy->truth) {
      all.push_back({policy, line});
    }
  }
  return all;
}

class truth : public ::testing::TestWithParam<named_line> {};

TEST_P(truth, equals_the_published_count) {
  const auto& [policy, line] = GetParam();
  const auto& columns = trace(line.trace);
  if (!columns) {
    GTEST_SKIP() << "the " << line.trace << " trace is not here";
  }
  replay_rule rule = line.rule == "flat" ? replay_rule::flat : replay_rule::prefix;
  replay_result result =
      replay(*columns, policy->name, split(line.parameters), line.capacity, rule, "test");
  EXPECT_EQ(result.misses(), static_cast<std::uint64_t>(line.misses));
  if (line.missed_size >= 0) {
    EXPECT_EQ(result.missed_size, static_cast<std::uint64_t>(line.missed_size));
  }
}

std::string print(const ::testing::TestParamInfo<named_line>& info) {
  const auto& [policy, line] = info.param;
  std::string name = std::string{policy->kind} + "_" + std::string{policy->name} + "_" +
                     std::string{line.trace} + "_" + std::string{line.rule} + "_" +
                     std::to_string(line.capacity) + "_" + std::string{line.parameters};
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(every_policy, truth, ::testing::ValuesIn(lines()), print);

TEST(truth_of_the_endless_cache, token_rates_of_mooncake) {
  const auto& columns = trace("conversation");
  if (!columns) {
    GTEST_SKIP() << "the conversation trace is not here";
  }
  replay_result result = replay(*columns, "infinite", {}, 1, replay_rule::prefix, "test");
  EXPECT_EQ(result.hit_tokens, 54'098'411u);
  EXPECT_EQ(result.total_tokens, 144'793'823u);
}

}  // namespace
}  // namespace refrain
