// `refrain check`: the conformance kit on one policy. Each check runs in a process of its own, so a
// policy that crashes or hangs fails that check and the others still are done; after a hang they
// are not, since each would take as long.
#include <fmt/format.h>

#include <charconv>
#include <iostream>

#include "policies/bound.hpp"
#include "policies/check.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/child.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "scenarios/policy_words.hpp"

namespace refrain {

namespace {

/// A check and what came of it.
struct finished_check {
  const policy_check* check;
  check_report report;
};

/// The eviction policy of that name; what has the name otherwise is named in the message.
const eviction_entry& find_policy(const std::string& name, const std::string& where) {
  for (const policy_info* info : all_policies()) {
    if (info->name == name && info->kind != eviction_entry::kind &&
        !registry<eviction_entry>::all().contains(name)) {
      throw input_error{where, fmt::format("\"{}\" is of kind {}; the kit checks eviction policies",
                                           name, info->kind)};
    }
  }
  return registry<eviction_entry>::find(name, where);
}

/// Runs the checks one after the other and tells of each as soon as it is done.
template <class Tell>
std::vector<finished_check> run_checks(const checked_policy& policy, const Tell& tell) {
  std::vector<finished_check> all;
  bool hung = false;
  for (const policy_check& check : policy_checks()) {
    finished_check done{&check, {check_outcome::skipped, "not run after a call that hung"}};
    if (!hung) {
      child_outcome child = run_in_child([&] {
        check_report report = run_check(check, policy);
        return std::string{static_cast<char>('0' + static_cast<int>(report.outcome))} +
               report.reason;
      });
      hung = child.hung;
      done.report = child.answered ? check_report{static_cast<check_outcome>(child.text[0] - '0'),
                                                  child.text.substr(1)}
                                   : check_report{check_outcome::failed, child.text};
    }
    all.push_back(done);
    tell(done);
  }
  return all;
}

/// Nanoseconds per access of the policy and of LRU; 0 where it has no replay.
std::pair<double, double> measure(const checked_policy& policy) {
  child_outcome child = run_in_child([&] {
    checked_policy lru{&registry<eviction_entry>::find("lru", "check"), {}, policy.seed};
    double mine = nanoseconds_per_access(policy);
    return fmt::format("{} {}", mine, nanoseconds_per_access(lru));
  });
  std::pair<double, double> found{0, 0};
  if (child.answered) {
    const char* end = child.text.data() + child.text.size();
    const char* next = std::from_chars(child.text.data(), end, found.first).ptr;
    std::from_chars(next + 1, end, found.second);
  }
  return found;
}

void print(const finished_check& done) {
  std::cout << fmt::format("  {}  {:<22}  {}: {}", name_of(done.report.outcome), done.check->name,
                           done.check->rule, done.report.reason)
            << std::endl;
}

json describe(const checked_policy& policy, const std::vector<finished_check>& all, bool passed,
              std::pair<double, double> speed) {
  json parameters = json::object();
  for (const auto& [name, text] :
       refrain::parameters{policy.entry->info.parameters, policy.given, ""}.texts()) {
    parameters[name] = json_of_text(text);
  }
  json checks = json::array();
  for (const auto& [check, report] : all) {
    checks.push_back({{"name", check->name},
                      {"rule", check->rule},
                      {"outcome", name_of(report.outcome)},
                      {"reason", report.reason}});
  }
  std::string plugin{policy.entry->info.plugin};
  json measured = speed.first > 0 ? json(speed.first) : json(nullptr);
  return {{"policy", policy.entry->info.name},
          {"plugin", plugin.empty() ? json(nullptr) : json(plugin)},
          {"parameters", parameters},
          {"seed", policy.seed},
          {"passed", passed},
          {"checks", checks},
          {"nanoseconds_per_access", measured}};
}

/// The names of the checks that failed.
std::string failures_of(const std::vector<finished_check>& all) {
  std::string names;
  for (const auto& [check, report] : all) {
    if (report.outcome == check_outcome::failed) {
      names += (names.empty() ? "" : ", ") + std::string{check->name};
    }
  }
  return names;
}

}  // namespace

void check_command(const std::vector<std::string>& words) {
  arguments given{"check", "check POLICY[:k=v,...] [--plugin FILE]... [--seed N] [--json]",
                  "Checks an eviction policy against the rules that all of them keep to. Exit "
                  "status 1: a check failed."};
  given.word("POLICY", "an eviction policy, with parameters where they are not the defaults");
  declare_plugins(given);
  given.option("seed", "N", "of all that is drawn; 1 where omitted");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  std::string text = given.required("POLICY");
  std::string where = "check " + text;
  load_plugins(given);
  checked_policy policy{nullptr, {}, static_cast<std::uint64_t>(given.number("seed", 0, 1)), true};
  std::string name = parse_named(text, where, policy.given);
  policy.entry = &find_policy(name, where);
  parameters{policy.entry->info.parameters, policy.given, where};

  bool for_people = !given.has("json");
  if (for_people) {
    std::cout << fmt::format("{}, seed {}\n\n", text, policy.seed);
  }
  std::vector<finished_check> all = run_checks(policy, [&](const finished_check& done) {
    if (for_people) {
      print(done);
    }
  });
  std::string failures = failures_of(all);
  std::pair<double, double> speed = failures.empty() ? measure(policy) : std::pair{0.0, 0.0};
  if (!for_people) {
    print_json(describe(policy, all, failures.empty(), speed));
  } else if (speed.first > 0) {
    std::cout << fmt::format("\n{:.1f} ns per access in replay, cache included; lru {:.1f}\n",
                             speed.first, speed.second);
  }
  if (!failures.empty()) {
    throw run_error{fmt::format("{} fails with seed {}: {}", where, policy.seed, failures)};
  }
}

}  // namespace refrain
