// Compared per request of the trace. An endless cache finds whatever is finished when a request
// enters the batch; another contender can find more only where it entered later or elsewhere, so an
// excess is a matter of timing, and said so with its size.
#include "scenarios/run_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "analysis/sample_summary.hpp"
#include "scenarios/grouped_warnings.hpp"
#include "traces/quantity.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

/// Of a contender, by row of the trace.
struct request_hits {
  std::int64_t hit_tokens = 0;
  std::int64_t pending_tokens = 0;
};
using hits_by_request = std::vector<request_hits>;

hits_by_request read_hits(const results_reader& results, std::size_t contender) {
  constexpr std::string_view names[] = {"request", "hit_tokens", "pending_tokens"};
  hits_by_request hits;
  results.visit(contender, "requests", names, [&](const table& rows) {
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      auto row = static_cast<std::size_t>(rows.columns[0].integers()[i]);
      hits.resize(std::max(hits.size(), row + 1));
      hits[row] = {rows.columns[1].integers()[i], rows.columns[2].integers()[i]};
    }
  });
  return hits;
}

std::string excess_text(const contender_plan& infinite, const contender_plan& other,
                        const hits_by_request& endless, const hits_by_request& hits) {
  std::int64_t requests = 0, tokens = 0, pending = 0;
  for (std::size_t i = 0; i < std::min(endless.size(), hits.size()); ++i) {
    std::int64_t excess = hits[i].hit_tokens - endless[i].hit_tokens;
    if (excess > 0) {
      ++requests;
      tokens += excess;
      pending += std::min(excess, endless[i].pending_tokens);
    }
  }
  if (requests == 0) {
    return "";
  }
  return fmt::format(
      "{}: requests that reuse more than with {}: {}, by {} tokens; {} of these were still being "
      "computed by another request when {} admitted it, {} are due to another order of service",
      other.name, infinite.name, print_count(requests), print_count(tokens), print_count(pending),
      infinite.name, print_count(tokens - pending));
}

bool is_infinite(const contender_plan& plan) {
  return plan.reuse.name != "none" && plan.eviction.name == "infinite";
}

void compare_with_infinite(const results_reader& results, std::span<const contender_plan> plans,
                           std::vector<std::string>& warnings) {
  auto found = std::ranges::find_if(plans, is_infinite);
  if (found == plans.end()) {
    return;
  }
  hits_by_request endless = read_hits(results, static_cast<std::size_t>(found - plans.begin()));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (&plans[i] == &*found) {
      continue;
    }
    std::string text = excess_text(*found, plans[i], endless, read_hits(results, i));
    if (!text.empty()) {
      warnings.push_back(std::move(text));
    }
  }
}

bool served_any(const results_reader& results, std::size_t contender) {
  constexpr std::string_view names[] = {"status"};
  bool any = false;
  results.visit(contender, "requests", names, [&](const table& rows) {
    any = any || std::ranges::count(rows.at("status").integers(), 0) > 0;
  });
  return any;
}

bool evicted_any(const results_reader& results, std::size_t contender) {
  constexpr std::string_view names[] = {"evictions"};
  bool any = false;
  results.visit(contender, "executors", names, [&](const table& rows) {
    any = any || std::ranges::any_of(rows.at("evictions").integers(),
                                     [](std::int64_t n) { return n != 0; });
  });
  return any;
}

void find_idle_caches(const results_reader& results, std::span<const contender_plan> plans,
                      std::vector<std::string>& warnings) {
  grouped_warnings idle;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!served_any(results, i)) {
      idle.add(plans[i].name, "no request was served");
      continue;
    }
    if (plans[i].reuse.name == "none" || is_infinite(plans[i]) || !results.has(i, "executors")) {
      continue;
    }
    if (!evicted_any(results, i)) {
      idle.add(plans[i].name,
               "the cache never filled, so its eviction policy never acted; fewer "
               "tiers.gpu.blocks or more requests would show what it does");
    }
  }
  idle.append_to(warnings);
}

void find_empty_samples(const results_reader& results, std::size_t contenders,
                        std::vector<std::string>& warnings) {
  grouped_warnings empty;
  for (std::size_t i = 0; i < contenders; ++i) {
    std::optional<sample_summary> sample = summarise_sample(results, i);
    if (sample && sample->requests == 0 && sample->left_out > 0) {
      empty.add(results.run().contenders[i].name,
                fmt::format("nothing really ran: all {} requests of the sample are longer than "
                            "execution.sample.tokens_max",
                            print_count(sample->left_out)));
    }
  }
  empty.append_to(warnings);
}

/// What a router thought is no part of how a request was served.
bool tells_of_service(const column& c) {
  return c.name != "routable_tokens" && c.name != "routed_tokens";
}

void mix_in(std::uint64_t& print, const column& c) {
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&c.values)) {
    for (std::int64_t value : *whole) {
      print = mix64(print, static_cast<std::uint64_t>(value));
    }
  } else if (const auto* reals = std::get_if<std::vector<double>>(&c.values)) {
    for (double value : *reals) {
      print = mix64(print, std::bit_cast<std::uint64_t>(value));
    }
  }
}

/// Numbers that two contenders share when what tells of service is equal in all their requests: one
/// for each column.
std::vector<std::uint64_t> fingerprint(const results_reader& results, std::size_t contender) {
  std::vector<std::uint64_t> prints;
  results.visit(contender, "requests", {}, [&](const table& rows) {
    prints.resize(rows.columns.size());
    for (std::size_t i = 0; i < prints.size(); ++i) {
      if (tells_of_service(rows.columns[i])) {
        mix_in(prints[i], rows.columns[i]);
      }
    }
  });
  return prints;
}

void find_twins(const results_reader& results, std::span<const contender_plan> plans,
                std::vector<std::string>& warnings) {
  if (plans.size() < 2) {
    return;
  }
  std::map<std::vector<std::uint64_t>, std::string> first_with;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!served_any(results, i)) {
      continue;
    }
    auto [at, is_new] = first_with.emplace(fingerprint(results, i), plans[i].name);
    if (!is_new) {
      warnings.push_back(fmt::format(
          "{} and {} served every request alike, so this run shows no difference between them",
          at->second, plans[i].name));
    }
  }
}

}  // namespace

std::vector<std::string> check_run(const results_reader& results,
                                   std::span<const contender_plan> contenders) {
  std::vector<std::string> warnings;
  compare_with_infinite(results, contenders, warnings);
  find_idle_caches(results, contenders, warnings);
  find_empty_samples(results, contenders.size(), warnings);
  find_twins(results, contenders, warnings);
  return warnings;
}

}  // namespace refrain
