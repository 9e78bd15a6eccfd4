// `refrain replay`: hits of policies at capacities, without time. The trace is read once; each
// policy and capacity is one loop over its columns. Times are CPU seconds of this thread.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iostream>
#include <optional>

#include "policies/replay.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

/// A policy as the command line gives it: "NAME" or "NAME:k=v,...".
struct asked_policy {
  std::string text;
  std::string name;
  given_parameters values;
};

/// One replay and what it gave.
struct finished_replay {
  const asked_policy* policy;
  std::int64_t capacity;
  replay_result result;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

asked_policy parse_policy(const std::string& text) {
  asked_policy asked{.text = text, .name = text.substr(0, text.find(':')), .values = {}};
  if (asked.name.size() == text.size()) {
    return asked;
  }
  for (const std::string& part : split(text.substr(asked.name.size() + 1), ',')) {
    std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error{"--policy " + text, "expected NAME:PARAMETER=VALUE,..."};
    }
    asked.values.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return asked;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{value} : std::nullopt;
}

/// "1000", or "5%" of the unique blocks, rounded down.
std::int64_t parse_capacity(const std::string& text, std::uint64_t unique) {
  std::optional<std::int64_t> capacity;
  if (text.ends_with('%')) {
    std::optional<double> percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) {
      capacity = static_cast<std::int64_t>(
          std::floor(static_cast<long double>(*percent) * static_cast<long double>(unique) / 100));
      if (*capacity < 1) {
        throw input_error{"--capacity " + text,
                          fmt::format("is no block of the {} unique ones",
                                      print_count(static_cast<std::int64_t>(unique)))};
      }
    }
  } else {
    capacity = parse_number<std::int64_t>(text);
  }
  if (!capacity || *capacity < 1) {
    throw input_error{"--capacity " + text,
                      "expected a whole number of at least 1, or a share such as 5%"};
  }
  return *capacity;
}

access_columns read_trace(const std::string& text) {
  std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw input_error{"--trace " + text, "expected FORMAT:PATH"};
  }
  std::string format = text.substr(0, colon);
  std::vector<std::string_view> names;
  for (const auto& [name, _] : trace_formats()) {
    names.push_back(name);
  }
  if (!trace_formats().contains(format)) {
    throw input_error{"--trace " + text, unknown_name("trace format", format, names)};
  }
  auto trace = open_trace(format, {.path = text.substr(colon + 1)});
  access_columns columns = read_columns(*trace);
  if (columns.keys.empty()) {
    throw input_error{text.substr(colon + 1), "names no blocks, so there is nothing to replay"};
  }
  return columns;
}

replay_rule parse_rule(const std::string& text, const access_columns& columns) {
  if (text.empty()) {
    return standard_rule(columns);
  }
  if (text != "prefix" && text != "flat") {
    constexpr std::string_view rules[] = {"prefix", "flat"};
    throw input_error{"--rule", unknown_name("rule", text, rules)};
  }
  return text == "prefix" ? replay_rule::prefix : replay_rule::flat;
}

double hit_rate(const replay_result& r) {
  return static_cast<double>(r.hits) / static_cast<double>(r.accesses);
}

const char* name_of(replay_rule rule) {
  return rule == replay_rule::prefix ? "prefix" : "flat";
}

json describe(const finished_replay& each, replay_rule rule, double read_seconds) {
  const replay_result& r = each.result;
  json about{
      {"policy", each.policy->text}, {"capacity", each.capacity}, {"rule", name_of(rule)},
      {"requests", r.requests},      {"accesses", r.accesses},    {"hits", r.hits},
      {"misses", r.misses()},        {"hit_rate", hit_rate(r)},   {"missed_size", r.missed_size}};
  if (r.total_tokens > 0) {
    about["token_hit_rate"] =
        static_cast<double>(r.hit_tokens) / static_cast<double>(r.total_tokens);
  }
  about["seconds"] = r.seconds;
  about["read_seconds"] = read_seconds;
  about["accesses_per_second"] = json_number(static_cast<double>(r.accesses) / r.seconds);
  about["peak_bytes"] = r.peak_bytes;
  return about;
}

/// Policies as rows, capacities as columns.
void print(const std::vector<finished_replay>& all, std::size_t capacities) {
  std::size_t width = 8;
  for (const finished_replay& each : all) {
    width = std::max(width, each.policy->text.size());
  }
  std::cout << fmt::format("{:<{}}", "capacity", width);
  for (std::size_t i = 0; i < capacities; ++i) {
    std::cout << fmt::format("  {:>20}", print_count(all[i].capacity));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % capacities == 0) {
      std::cout << fmt::format("\n{:<{}}", all[i].policy->text, width);
    }
    auto hits = static_cast<std::int64_t>(all[i].result.hits);
    std::cout << fmt::format("  {:>7.2f}% {:>11}", 100 * hit_rate(all[i].result),
                             print_count(hits));
  }
  std::cout << "\n";
}

void print_trace(const access_columns& columns, replay_rule rule) {
  auto count = [](std::size_t n) { return print_count(static_cast<std::int64_t>(n)); };
  std::cout << fmt::format("{} requests, {} accesses to {} blocks, rule {}: hit rate and hits\n\n",
                           count(columns.requests()), count(columns.keys.size()),
                           count(unique_keys(columns)), name_of(rule));
}

}  // namespace

void replay_command(const std::vector<std::string>& words) {
  arguments given{"replay",
                  "replay --trace FORMAT:PATH --policy NAME[:k=v,...]... --capacity N[,N...] "
                  "[--rule prefix|flat] [--json]",
                  "Replays a trace against policies and bounds, without time: exact hit counts."};
  given.option("trace", "FORMAT:PATH", "the trace, plain or packed (gz, xz, zst)");
  given.option("policy", "NAME", "an eviction policy or a bound; see refrain policies");
  given.option("capacity", "N", "in blocks, or a share of the unique ones such as 5%");
  given.option("rule", "RULE", "prefix or flat; prefix where rows carry chains");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  std::string trace = given.required("trace");
  std::vector<asked_policy> policies;
  for (const std::string& text : given.some("policy")) {
    policies.push_back(parse_policy(text));
  }
  std::vector<std::string> asked_capacities = given.some("capacity");
  double begin = thread_seconds();
  access_columns columns = read_trace(trace);
  double read_seconds = thread_seconds() - begin;
  replay_rule rule = parse_rule(given.one("rule"), columns);

  std::uint64_t unique = unique_keys(columns);
  std::vector<std::int64_t> capacities;
  for (const std::string& list : asked_capacities) {
    for (const std::string& text : split(list, ',')) {
      capacities.push_back(parse_capacity(text, unique));
    }
  }
  std::vector<finished_replay> all;
  for (const asked_policy& policy : policies) {
    for (std::int64_t capacity : capacities) {
      all.push_back(
          {&policy, capacity,
           replay(columns, policy.name, policy.values, capacity, rule, "--policy " + policy.text)});
    }
  }
  if (!given.has("json")) {
    print_trace(columns, rule);
    print(all, capacities.size());
    return;
  }
  json document = json::array();
  for (const finished_replay& each : all) {
    document.push_back(describe(each, rule, read_seconds));
  }
  print_json(document);
}

}  // namespace refrain
