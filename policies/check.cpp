#include "policies/check.hpp"

#include <algorithm>

#include "policies/check_driver.hpp"
#include "policies/replay.hpp"
#include "policies/sample_columns.hpp"

namespace refrain {

namespace {

using enum check_outcome;

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}

check_report skip(std::string reason) {
  return {skipped, std::move(reason)};
}

/// Why the policy cannot be driven as in a run; empty where it can.
std::string no_run(const checked_policy& policy) {
  return policy.entry->needs(values_of(policy)).unbounded ? "unbounded: it never evicts" : "";
}

/// Whether a policy can be replayed without chains of blocks.
bool is_flat(const checked_policy& policy) {
  eviction_needs needs = policy.entry->needs(values_of(policy));
  return policy.entry->replay_flat != nullptr && !needs.sessions && needs.queue == 0 &&
         !needs.tree && !needs.costs && !needs.categories && !needs.hints && !needs.steps;
}

constexpr const char* not_flat = "not replayed flat: it needs more than keys";
constexpr const char* not_replayed = "not replayed";

/// Replays behind a guard, so that a wrong victim is named and not acted on.
replay_result replay_safely(const checked_policy& policy, const access_columns& columns,
                            std::int64_t capacity, replay_rule rule) {
  const eviction_entry& entry = *policy.entry;
  eviction_entry safe =
      entry.info.plugin.empty() ? guarded(entry, title_of(entry), policy.watch) : entry;
  const auto& loop = rule == replay_rule::flat ? safe.replay_flat : safe.replay_prefix;
  replay_result result = loop(columns, capacity, values_of(policy), {});
  result.accesses = columns.keys.size();
  return result;
}

/// Many sequences of operations, each with `slots(sequence)` blocks.
template <class Slots>
check_report drive(const checked_policy& policy, std::uint64_t sequences, Slots slots) {
  if (std::string reason = no_run(policy); !reason.empty()) {
    return skip(reason);
  }
  driven sum;
  for (std::uint64_t i = 0; i < sequences; ++i) {
    std::uint64_t seed = mix64(policy.seed, i);
    try {
      driven one = check_driver{policy, seed, slots(seed)}.run();
      sum.requests += one.requests;
      sum.evictions += one.evictions;
    } catch (const run_error& error) {
      throw run_error{std::string{error.what()} + " (sequence " + text_of(i) + ", " +
                      text_of(slots(seed)) + " blocks)"};
    }
  }
  return {passed, text_of(sequences) + " sequences, " + text_of(sum.requests) + " requests, " +
                      text_of(sum.evictions) + " evictions"};
}

check_report random_operations(const checked_policy& policy) {
  return drive(policy, 20, [](std::uint64_t) { return std::uint32_t{40}; });
}

check_report tiny_caches(const checked_policy& policy) {
  return drive(policy, 60,
               [](std::uint64_t seed) { return static_cast<std::uint32_t>(1 + seed % 24); });
}

check_report same_choices(const checked_policy& policy) {
  if (std::string reason = no_run(policy); !reason.empty()) {
    return skip(reason);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::uint64_t seed = mix64(policy.seed, i);
    // Both are alive, so a choice by address shows.
    check_driver one{policy, seed, 40};
    check_driver other{policy, seed, 40};
    driven first = one.run();
    driven again = other.run();
    if (first.evictions == 0) {
      return {failed, "evicted nothing in " + text_of(first.requests) +
                          " requests, so there was no choice to compare"};
    }
    if (first.choices != again.choices || first.evictions != again.evictions) {
      return {failed, "chose other victims the second time (sequence " + text_of(i) +
                          "): draw chance only from eviction_setup::random"};
    }
  }
  return {passed, "3 sequences, twice each"};
}

check_report no_allocation(const checked_policy& policy) {
  if (!counts_allocations()) {
    return skip("this build does not count allocations");
  }
  if (std::string reason = no_run(policy); !reason.empty()) {
    return skip(reason);
  }
  for (const auto& [name, value] : values_of(policy).texts()) {
    if (name == "history" && value == "kept") {
      return skip("history = kept grows with unique keys, as it says");
    }
  }
  driven seen = check_driver{policy, mix64(policy.seed, 0), 40}.run();
  if (seen.allocating_calls > 0) {
    return {failed, "allocated in " + text_of(seen.allocating_calls) + " calls, first in " +
                        seen.allocating + "(): size arrays by eviction_setup::slots once"};
  }
  return {passed, "no operator new in " + text_of(seen.requests) + " requests"};
}

// S3-FIFO as published caches nothing below a capacity of 20, nor objects of a tenth of it or more;
// so there is room for hundreds, and all are of size 1.
check_report only_compulsory(const checked_policy& policy) {
  bool flat = is_flat(policy);
  if (!flat && policy.entry->replay_prefix == nullptr) {
    return skip(not_replayed);
  }
  replay_rule rule = flat ? replay_rule::flat : replay_rule::prefix;
  access_columns columns =
      flat ? object_columns(20'000, 500, 1, policy.seed) : told_chain_columns(600, policy.seed);
  auto capacity = static_cast<std::int64_t>(unique_keys(columns));
  replay_result endless = replay(columns, "infinite", {}, capacity, rule, "check");
  replay_result mine = replay_safely(policy, columns, capacity, rule);
  if (mine.misses() != endless.misses()) {
    return {failed, text_of(mine.misses()) + " misses where all " + text_of(unique_keys(columns)) +
                        " blocks fit; " + text_of(endless.misses()) + " are compulsory"};
  }
  return {passed, text_of(mine.misses()) + " misses, " + (flat ? "flat" : "prefix") +
                      ", room for all " + text_of(unique_keys(columns)) + " blocks"};
}

/// No capacity may show fewer misses, or less missed size, than the bound.
check_report compare(const checked_policy& policy, const access_columns& columns, replay_rule rule,
                     std::initializer_list<std::int64_t> capacities) {
  std::string bound{bound_of(columns, rule)};
  for (std::int64_t capacity : capacities) {
    replay_result best = replay(columns, bound, {}, capacity, rule, "check");
    replay_result mine = replay_safely(policy, columns, capacity, rule);
    std::string at = " at a capacity of " + text_of(static_cast<std::uint64_t>(capacity));
    if (mine.misses() < best.misses()) {
      return {failed, text_of(mine.misses()) + " misses" + at + ", fewer than the " +
                          text_of(best.misses()) + " of " + bound};
    }
    if (!columns.sizes.empty() && mine.missed_size < best.missed_size) {
      return {failed, text_of(mine.missed_size) + " units missed" + at + ", less than the " +
                          text_of(best.missed_size) + " of " + bound};
    }
  }
  return {passed, bound + " at " + text_of(capacities.size()) + " capacities, " +
                      text_of(columns.keys.size()) + " accesses"};
}

check_report flat_bound(const checked_policy& policy) {
  if (!is_flat(policy)) {
    return skip(not_flat);
  }
  return compare(policy, object_columns(20'000, 2'000, 1, policy.seed), replay_rule::flat,
                 {1, 2, 10, 100, 1'000});
}

check_report chain_bound(const checked_policy& policy) {
  if (policy.entry->replay_prefix == nullptr) {
    return skip(not_replayed);
  }
  return compare(policy, told_chain_columns(600, policy.seed), replay_rule::prefix,
                 {1, 3, 20, 100, 400});
}

check_report size_bound(const checked_policy& policy) {
  if (!is_flat(policy)) {
    return skip(not_flat);
  }
  return compare(policy, object_columns(8'000, 800, 20, policy.seed), replay_rule::flat,
                 {20, 100, 1'000, 20'000});
}

// The loop over the policy's own type inlines what the interface calls, and guesses victims ahead.
check_report same_counts(const checked_policy& policy) {
  if (!policy.entry->info.plugin.empty()) {
    return skip("a plug-in is always called through the interface");
  }
  if (policy.entry->replay_prefix == nullptr) {
    return skip(not_replayed);
  }
  access_columns chains = told_chain_columns(600, policy.seed);
  for (std::int64_t capacity : {5, 100}) {
    replay_result safe = replay_safely(policy, chains, capacity, replay_rule::prefix);
    replay_result own = policy.entry->replay_prefix(chains, capacity, values_of(policy), {});
    if (safe.hits != own.hits) {
      return {failed, text_of(own.hits) + " hits in the loop over its own type and " +
                          text_of(safe.hits) + " through the interface"};
    }
  }
  return {passed, "2 capacities, " + text_of(chains.keys.size()) + " accesses"};
}

check_report declaration(const checked_policy& policy) {
  const policy_info& info = policy.entry->info;
  if (!is_policy_name(info.name)) {
    return {failed, "\"" + std::string{info.name} + "\" is no name; expected snake_case"};
  }
  if (info.summary.empty() || info.source.empty()) {
    return {failed, std::string{info.summary.empty() ? "summary" : "source"} + " is empty"};
  }
  given_parameters defaults;
  for (const parameter& each : info.parameters) {
    defaults.emplace_back(each.name, each.standard);
  }
  parameters{info.parameters, defaults, "default of parameter"};
  for (const parameter& each : info.parameters) {
    if (!is_policy_name(each.name) || each.description.empty()) {
      return {failed, "parameter \"" + std::string{each.name} +
                          "\" needs a name in snake_case and a description"};
    }
  }
  policy.entry->needs(values_of(policy));
  return {passed, text_of(info.parameters.size()) + " declared, defaults in range"};
}

constexpr policy_check checks[] = {
    {"declaration", "name, summary, source, parameters", declaration},
    {"random_operations", "never over capacity; victims resident and unpinned", random_operations},
    {"tiny_caches", "the same in 1 to 24 blocks, most of them pinned", tiny_caches},
    {"same_seed_same_choices", "the same victims when run again", same_choices},
    {"no_allocation", "nothing is allocated once it is made", no_allocation},
    {"compulsory_misses", "no other misses where everything fits", only_compulsory},
    {"bound_flat", "never better than min_bypass", flat_bound},
    {"bound_chains", "never better than belady_bypass on chains", chain_bound},
    {"bound_sizes", "never better than volume where sizes differ", size_bound},
    {"same_counts", "replay's own loop and the interface agree", same_counts}};

}  // namespace

std::string_view name_of(check_outcome outcome) {
  constexpr std::string_view names[] = {"pass", "fail", "skip"};
  return names[static_cast<std::size_t>(outcome)];
}

std::span<const policy_check> policy_checks() {
  return checks;
}

check_report run_check(const policy_check& check, const checked_policy& policy) {
  try {
    return check.run(policy);
  } catch (const std::exception& thrown) {
    return {failed, thrown.what()};
  } catch (...) {
    return {failed, "threw something that is no std::exception"};
  }
}

double nanoseconds_per_access(const checked_policy& policy) {
  bool flat = is_flat(policy);
  const auto& loop = flat ? policy.entry->replay_flat : policy.entry->replay_prefix;
  if (loop == nullptr) {
    return 0;
  }
  access_columns columns = flat ? object_columns(400'000, 20'000, 1, policy.seed)
                                : told_chain_columns(20'000, policy.seed);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    double seconds = loop(columns, flat ? 2'000 : 200, values_of(policy), {}).seconds;
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best * 1e9 / static_cast<double>(columns.keys.size());
}

}  // namespace refrain
