#include "scenarios/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "traces/quantity.hpp"

namespace refrain {

namespace {

std::string cell(const replay_result& r) {
  return fmt::format("  {:>7.2f}% {:>11}", 100 * hit_rate(r),
                     print_count(static_cast<std::int64_t>(r.hits)));
}

std::string share(const finished_replay& each) {
  std::optional<double> part = each.frame->captured(each.result.hits);
  return part ? fmt::format("{:.1f}%", 100 * *part) : "-";
}

std::string headroom_title(const replay_frame& frame) {
  return fmt::format("\nshare of the headroom between {} and {}{}\n", frame.baseline, frame.bound,
                     frame.bound == "volume" ? " (a relaxed bound)" : "");
}

void print_frames(const std::vector<finished_replay>& all, std::size_t capacities,
                  std::size_t width) {
  const replay_frame& first = *all.front().frame;
  std::cout << fmt::format("{:<{}}", first.bound, width);
  for (std::size_t i = 0; i < capacities; ++i) {
    std::cout << cell(all[i].frame->at_bound);
  }
  std::cout << (first.bound == "volume" ? "  (a relaxed bound)\n" : "  (the bound)\n")
            << headroom_title(first);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % capacities == 0) {
      std::cout << fmt::format("{}{:<{}}", i == 0 ? "" : "\n", all[i].policy->text, width);
    }
    std::cout << fmt::format("  {:>20}", share(all[i]));
  }
  std::cout << "\n";
}

void describe_frame(const finished_replay& each, json& about) {
  const replay_frame& frame = *each.frame;
  about["bound"] = frame.bound;
  about["bound_is_relaxed"] = frame.bound == "volume";
  about["bound_hits"] = frame.at_bound.hits;
  about["bound_hit_rate"] = hit_rate(frame.at_bound);
  about["bound_missed_size"] = frame.at_bound.missed_size;
  about["baseline"] = frame.baseline;
  about["baseline_hits"] = frame.at_baseline.hits;
  std::optional<double> part = frame.captured(each.result.hits);
  about["headroom_captured"] = part ? json(*part) : json(nullptr);
}

}  // namespace

std::optional<double> replay_frame::captured(std::uint64_t hits) const {
  if (at_bound.hits <= at_baseline.hits) {
    return std::nullopt;
  }
  auto base = static_cast<double>(at_baseline.hits);
  return (static_cast<double>(hits) - base) / (static_cast<double>(at_bound.hits) - base);
}

const char* name_of(replay_rule rule) {
  return rule == replay_rule::prefix ? "prefix" : "flat";
}

double hit_rate(const replay_result& result) {
  return static_cast<double>(result.hits) / static_cast<double>(result.accesses);
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
  if (each.frame != nullptr) {
    describe_frame(each, about);
  }
  return about;
}

void print_table(const std::vector<finished_replay>& all, std::size_t capacities) {
  std::size_t width = 14;
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
    std::cout << cell(all[i].result);
  }
  std::cout << "\n";
  if (all.front().frame != nullptr) {
    print_frames(all, capacities, width);
  }
}

void print_curve(const std::vector<finished_replay>& all, std::size_t capacities) {
  std::cout << fmt::format("{:>14}", "capacity");
  bool bounded = all.front().frame != nullptr;
  for (std::size_t i = 0; i < all.size(); i += capacities) {
    std::cout << fmt::format("  {:>20}", all[i].policy->text);
  }
  if (bounded) {
    std::cout << fmt::format("  {:>20}", all.front().frame->bound);
  }
  for (std::size_t c = 0; c < capacities; ++c) {
    std::cout << fmt::format("\n{:>14}", print_count(all[c].capacity));
    for (std::size_t i = c; i < all.size(); i += capacities) {
      std::cout << cell(all[i].result);
    }
    if (bounded) {
      std::cout << cell(all[c].frame->at_bound);
    }
  }
  std::cout << "\n";
  if (!bounded) {
    return;
  }
  std::cout << headroom_title(*all.front().frame);
  for (std::size_t c = 0; c < capacities; ++c) {
    std::cout << fmt::format("{:>14}", print_count(all[c].capacity));
    for (std::size_t i = c; i < all.size(); i += capacities) {
      std::cout << fmt::format("  {:>20}", share(all[i]));
    }
    std::cout << "\n";
  }
}

}  // namespace refrain
