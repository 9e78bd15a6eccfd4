#include "policies/replay.hpp"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>

#include "policies/admission.hpp"
#include "policies/bound.hpp"
#include "policies/cache.hpp"

namespace refrain {

namespace {

void append(access_columns& columns, const request& row, const trace_info& info) {
  columns.starts.push_back(columns.keys.size());
  columns.keys.insert(columns.keys.end(), row.blocks.begin(), row.blocks.end());
  columns.arrivals.push_back(row.arrival);
  if (info.has_sizes) {
    columns.sizes.push_back(row.object_size);
  }
  if (info.has_sessions) {
    columns.sessions.push_back(row.session);
    columns.categories.push_back(category_of(row));
  }
  if (info.has_hints) {
    columns.hints.push_back(row.hint);
  }
  if (info.has_steps) {
    columns.agents.push_back(row.agent);
    columns.upcoming.push_back(row.upcoming);
  }
  if (!info.has_lengths) {
    return;
  }
  columns.input_tokens.push_back(row.input_tokens);
  columns.output_tokens.push_back(row.output_tokens);
  std::int64_t left = row.input_tokens;
  for (std::size_t i = 0; i < row.blocks.size(); ++i) {
    std::int64_t tokens = std::min<std::int64_t>(left, info.block_tokens);
    columns.tokens.push_back(static_cast<std::uint32_t>(tokens));
    left -= tokens;
  }
}

void require(bool present, const std::string& where, std::string_view policy, const char* lacking) {
  if (!present) {
    throw input_error{where, "policy \"" + std::string{policy} + "\" needs " + lacking};
  }
}

void check_needs(const access_columns& columns, const eviction_needs& needs, replay_rule rule,
                 const std::string& where, std::string_view policy) {
  require(!needs.times || !columns.arrivals.empty(), where, policy,
          "arrival times, and this trace has none");
  if (rule == replay_rule::flat) {
    require(!needs.tree && needs.queue == 0 && !needs.sessions && !needs.costs &&
                !needs.categories && !needs.hints && !needs.steps,
            where, policy, "chains of requests: replay it under the rule \"prefix\"");
    return;
  }
  require(!needs.sessions || !columns.sessions.empty(), where, policy,
          "sessions, and this trace has none");
  require(!needs.categories || !columns.categories.empty(), where, policy,
          "categories of requests (types, or turns of sessions), and this trace has neither");
  require(!needs.hints || !columns.hints.empty(), where, policy,
          "retention hints, and this trace has none");
  require(!needs.steps || !columns.agents.empty(), where, policy,
          "the step graph of a workflow, and this trace has none");
}

replay_result replay_eviction(const access_columns& columns, std::string_view policy,
                              const given_parameters& given, std::int64_t capacity,
                              replay_rule rule, const std::string& where,
                              const admission_choice& choice) {
  const auto& entry = registry<eviction_entry>::find(policy, where);
  parameters values{entry.info.parameters, given, where};
  eviction_needs needs = entry.needs(values);
  if (entry.replay_flat == nullptr) {
    throw input_error{where,
                      "policy \"" + std::string{policy} + "\" has no replay under this rule"};
  }
  check_needs(columns, needs, rule, where, policy);
  bool flat = rule == replay_rule::flat;
  auto loop = flat ? entry.replay_flat : entry.replay_prefix;
  if (choice.name == "always") {
    parameters{registry<admission_entry>::find(choice.name, where).info.parameters, choice.given,
               where};
    return loop(columns, capacity, values, {});
  }
  const auto& gate = registry<admission_entry>::find(choice.name, where);
  parameters gate_values{gate.info.parameters, choice.given, where};
  admission_needs gate_needs = gate.needs(gate_values);
  require(!gate_needs.depth || !flat, where, choice.name,
          "chains of requests: replay it under the rule \"prefix\"");
  auto keeper = gate.make(gate_values, {.capacity = capacity});
  return loop(columns, keeper->limit(capacity), values, {keeper.get(), gate_needs});
}

}  // namespace

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::uint64_t heap_bytes() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

access_columns read_columns(source& trace) {
  access_columns columns;
  request row;
  while (trace.next(row)) {
    append(columns, row, trace.info());
  }
  columns.starts.push_back(columns.keys.size());
  if (std::all_of(columns.arrivals.begin(), columns.arrivals.end(),
                  [](sim_time t) { return t == sim_time{0}; })) {
    columns.arrivals.clear();
  }
  if (std::all_of(columns.sizes.begin(), columns.sizes.end(),
                  [](std::uint32_t size) { return size == 1; })) {
    columns.sizes = {};
  }
  columns.block_tokens = trace.info().block_tokens;
  columns.has_chains = trace.info().has_chains;
  return columns;
}

replay_rule standard_rule(const access_columns& columns) {
  return columns.has_chains ? replay_rule::prefix : replay_rule::flat;
}

std::string_view bound_of(const access_columns& columns, replay_rule rule) {
  if (rule == replay_rule::prefix) {
    return "belady_bypass";
  }
  return columns.sizes.empty() ? "min_bypass" : "volume";
}

std::uint64_t unique_keys(const access_columns& columns) {
  absl::flat_hash_set<block_key, key_hash> seen{columns.keys.begin(), columns.keys.end()};
  return seen.size();
}

numbered_accesses number_accesses(const access_columns& columns, bool by_request) {
  numbered_accesses all;
  all.numbers.reserve(columns.keys.size());
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> numbers;
  for (block_key key : columns.keys) {
    auto [at, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size()));
    all.numbers.push_back(at->second);
  }
  all.unique = static_cast<std::uint32_t>(numbers.size());
  all.next_use.resize(columns.keys.size());
  std::vector<std::uint64_t> upcoming(all.unique, never);
  for (std::uint64_t r = columns.requests(); r-- > 0;) {
    std::uint64_t first = columns.starts[r];
    for (std::uint64_t i = columns.starts[r + 1]; i-- > first;) {
      all.next_use[i] = upcoming[all.numbers[i]];
      if (!by_request) {
        upcoming[all.numbers[i]] = i;
      }
    }
    for (std::uint64_t i = first; by_request && i < columns.starts[r + 1]; ++i) {
      upcoming[all.numbers[i]] = r;
    }
  }
  return all;
}

replay_result replay(const access_columns& columns, std::string_view policy,
                     const given_parameters& given, std::int64_t capacity, replay_rule rule,
                     const std::string& where, const admission_choice& admission) {
  require(rule == replay_rule::flat || columns.has_chains, where, policy,
          "chains of block ids under the rule \"prefix\", and this trace has none");
  if (capacity < 1) {
    throw input_error{where, "a cache needs a capacity of at least 1"};
  }
  replay_result result;
  const auto& bounds = registry<bound_entry>::all();
  if (auto bound = bounds.find(policy); bound != bounds.end()) {
    parameters{bound->second.info.parameters, given, where};
    if (admission.name != "always") {
      throw input_error{where, "a bound asks no admission policy"};
    }
    auto loop = rule == replay_rule::flat ? bound->second.replay_flat : bound->second.replay_prefix;
    if (loop == nullptr) {
      throw input_error{where, "the bound \"" + std::string{policy} +
                                   "\" exists only under the rule \"" +
                                   (rule == replay_rule::flat ? "prefix\"" : "flat\"")};
    }
    double begin = thread_seconds();
    result = loop(columns, capacity);
    result.seconds = thread_seconds() - begin;
  } else {
    result = replay_eviction(columns, policy, given, capacity, rule, where, admission);
  }
  result.requests = columns.requests();
  result.accesses = columns.keys.size();
  for (token_count tokens : columns.input_tokens) {
    result.total_tokens += static_cast<std::uint64_t>(tokens.get());
  }
  return result;
}

}  // namespace refrain
