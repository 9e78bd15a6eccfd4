// `refrain replay`: hits of policies at capacities, without time. The trace is read once; each
// policy and capacity is one loop over its columns, save for LRU's curve, which is one loop for all
// capacities. Times are CPU seconds of this thread.
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "policies/lru_curve.hpp"
#include "policies/replay.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/policy_words.hpp"
#include "scenarios/replay_report.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

/// A plus sign with a letter behind it begins the admission policy; one in a number does not.
asked_policy parse_policy(const std::string& text) {
  std::string where = "--policy " + text;
  std::size_t plus = text.find('+');
  while (plus != std::string::npos && plus + 1 < text.size() &&
         (text[plus + 1] < 'a' || text[plus + 1] > 'z')) {
    plus = text.find('+', plus + 1);
  }
  asked_policy asked{.text = text, .name = "", .values = {}};
  asked.name = parse_named(text.substr(0, plus), where, asked.values);
  if (plus != std::string::npos) {
    asked.admission = parse_named(text.substr(plus + 1), where, asked.admission_values);
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

/// "1000", or "5%" of all that there is, rounded down.
std::int64_t parse_capacity(const std::string& text, std::int64_t all) {
  std::optional<std::int64_t> capacity;
  if (text.ends_with('%')) {
    std::optional<double> percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) {
      capacity = static_cast<std::int64_t>(
          std::floor(static_cast<long double>(*percent) * static_cast<long double>(all) / 100));
      if (*capacity < 1) {
        throw input_error{"--capacity " + text,
                          fmt::format("is none of the {} that there are", print_count(all))};
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

/// What an endless cache would hold at the end: blocks, or the sizes of objects.
std::int64_t endless_capacity(const access_columns& columns) {
  if (columns.sizes.empty()) {
    return static_cast<std::int64_t>(unique_keys(columns));
  }
  std::int64_t all = 0;
  absl::flat_hash_set<std::uint64_t> seen;
  for (std::size_t i = 0; i < columns.keys.size(); ++i) {
    all += seen.insert(columns.keys[i].get()).second ? columns.sizes[i] : 0;
  }
  return all;
}

void print_trace(const access_columns& columns, replay_rule rule, std::int64_t endless) {
  auto count = [](std::size_t n) { return print_count(static_cast<std::int64_t>(n)); };
  std::string what = columns.sizes.empty()
                         ? fmt::format("{} blocks", print_count(endless))
                         : fmt::format("{} objects of {} units of size in all",
                                       count(unique_keys(columns)), print_count(endless));
  std::cout << fmt::format("{} requests, {} accesses to {}, rule {}: hit rate and hits\n\n",
                           count(columns.requests()), count(columns.keys.size()), what,
                           name_of(rule));
}

/// Capacities from 1 to all that there is, each a like factor above the one before.
std::vector<std::int64_t> spread_capacities(std::int64_t points, std::int64_t endless) {
  auto most = static_cast<double>(endless);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < points; ++i) {
    double share = points == 1 ? 1 : static_cast<double>(i) / static_cast<double>(points - 1);
    auto capacity = static_cast<std::int64_t>(std::llround(std::pow(most, share)));
    if (all.empty() || capacity > all.back()) {
      all.push_back(capacity);
    }
  }
  return all;
}

/// A, B: seconds per token, and per token and token of context.
recompute_model parse_recompute(const std::string& text) {
  std::vector<std::string> parts = split(text, ',');
  std::optional<double> alone = parse_number<double>(parts[0]);
  std::optional<double> context = parts.size() == 2 ? parse_number<double>(parts[1]) : std::nullopt;
  if (!alone || !context || !(*alone > 0) || !(*context >= 0)) {
    throw input_error{"--recompute " + text,
                      "expected A,B: seconds per token, and per token and token before it"};
  }
  return {*alone, *context};
}

/// Capacities that get a bound at most: each is a clairvoyant replay, which costs several others.
constexpr std::size_t bounds_most = 50;

/// Replays what is asked for, each capacity's bound and baseline once.
class replayer {
 public:
  replayer(const access_columns& columns, replay_rule rule, bool curve)
      : columns_{columns}, rule_{rule}, curve_{curve} {}

  void add(const asked_policy& policy, const std::vector<std::int64_t>& capacities) {
    auto result_at = results_of(policy);
    for (std::int64_t capacity : capacities) {
      all_.push_back({&policy, capacity, result_at(capacity)});
    }
  }
  void add_frames(const asked_policy& baseline) {
    std::string_view bound = bound_of(columns_, rule_);
    auto baseline_at = results_of(baseline);
    for (finished_replay& each : all_) {
      auto [at, is_new] = frames_.try_emplace(each.capacity);
      if (is_new) {
        at->second = {bound, replay(columns_, bound, {}, each.capacity, rule_, "--trace"),
                      baseline.text, baseline_at(each.capacity)};
      }
      each.frame = &at->second;
    }
  }
  const std::vector<finished_replay>& all() const { return all_; }

 private:
  /// A policy's result by capacity; on a curve LRU over blocks of one size has all from one pass.
  std::function<replay_result(std::int64_t)> results_of(const asked_policy& policy) const {
    if (!curve_ || policy.name != "lru" || policy.admission != "always" ||
        !columns_.sizes.empty()) {
      return [this, &policy](std::int64_t capacity) { return run(policy, capacity); };
    }
    run(policy, 1);  // refuses what is wrong
    bool front = false;
    for (const auto& [name, value] : policy.values) {
      front = value == "front";
    }
    auto all = std::make_shared<lru_curve>(columns_, rule_, front && rule_ == replay_rule::prefix);
    return [all](std::int64_t capacity) { return all->at(capacity); };
  }
  replay_result run(const asked_policy& policy, std::int64_t capacity) const {
    return replay(columns_, policy.name, policy.values, capacity, rule_, "--policy " + policy.text,
                  {policy.admission, policy.admission_values});
  }

  const access_columns& columns_;
  replay_rule rule_;
  bool curve_;
  std::vector<finished_replay> all_;
  std::map<std::int64_t, replay_frame> frames_;
};

void declare(arguments& given) {
  given.option("trace", "FORMAT:PATH", "the trace, plain or packed (gz, xz, zst)");
  given.option("policy", "NAME",
               "an eviction policy, alone or with an admission policy (lru+second_sight), or a "
               "bound; see refrain policies");
  given.option("capacity", "N", "in blocks, or a share of the unique ones such as 5%");
  given.flag("curve", "hit rate over capacity: from 1 to all blocks, or at --capacity");
  given.option("points", "N", "capacities of a curve; 30 where omitted");
  given.option("rule", "RULE", "prefix or flat; prefix where rows carry chains");
  given.option("baseline", "NAME", "what the headroom counts from; lru where omitted");
  given.flag("no-bounds",
             "leave out the bound and the share of the headroom, which take longer than most "
             "policies; above 50 capacities they are left out anyway");
  given.option("recompute", "A,B",
               "what policies that weigh costs are told: a token behind c others takes A + B c "
               "seconds; 2^-15 and 2^-30 where omitted");
  declare_plugins(given);
  given.flag("json", "print one JSON document");
}

}  // namespace

void replay_command(const std::vector<std::string>& words) {
  arguments given{"replay",
                  "replay --trace FORMAT:PATH --policy NAME[:k=v,...][+ADMISSION[:k=v,...]]... "
                  "--capacity N[,N...] [--curve] [--rule prefix|flat] [--plugin FILE]... [--json]",
                  "Replays a trace against policies and bounds, without time: exact hit counts."};
  declare(given);
  if (!given.parse(words)) {
    return;
  }
  load_plugins(given);
  std::string trace = given.required("trace");
  std::vector<asked_policy> policies;
  for (const std::string& text : given.some("policy")) {
    policies.push_back(parse_policy(text));
  }
  bool curve = given.has("curve");
  std::vector<std::string> asked_capacities =
      curve ? given.all("capacity") : given.some("capacity");
  std::int64_t points = given.number("points", 1, 30);
  double begin = thread_seconds();
  access_columns columns = read_trace(trace);
  double read_seconds = thread_seconds() - begin;
  replay_rule rule = parse_rule(given.one("rule"), columns);
  if (given.has("recompute")) {
    columns.recompute = parse_recompute(given.one("recompute"));
  }

  std::int64_t endless = endless_capacity(columns);
  std::vector<std::int64_t> capacities;
  for (const std::string& list : asked_capacities) {
    for (const std::string& text : split(list, ',')) {
      capacities.push_back(parse_capacity(text, endless));
    }
  }
  if (capacities.empty()) {
    capacities = spread_capacities(points, endless);
  }
  replayer work{columns, rule, curve};
  for (const asked_policy& policy : policies) {
    work.add(policy, capacities);
  }
  asked_policy baseline = parse_policy(given.one("baseline", "lru"));
  if (!given.has("no-bounds")) {
    if (capacities.size() <= bounds_most) {
      work.add_frames(baseline);
    } else {
      std::cerr << fmt::format("no bounds: each takes a replay, and {} capacities are above {}\n",
                               capacities.size(), bounds_most);
    }
  }
  if (!given.has("json")) {
    print_trace(columns, rule, endless);
    curve ? print_curve(work.all(), capacities.size()) : print_table(work.all(), capacities.size());
    return;
  }
  json document = json::array();
  for (const finished_replay& each : work.all()) {
    document.push_back(describe(each, rule, read_seconds));
  }
  print_json(document);
}

}  // namespace refrain
