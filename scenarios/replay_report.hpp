// What `refrain replay` prints: policies at capacities beside the bound that none of them beats, as
// tables or as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/replay.hpp"
#include "scenarios/json.hpp"

namespace refrain {

/// A policy as the command line gives it: "NAME[:k=v,...][+ADMISSION[:k=v,...]]".
struct asked_policy {
  std::string text;
  std::string name;
  given_parameters values;
  std::string admission = "always";
  given_parameters admission_values = {};
};

/// What results at one capacity are measured against.
struct replay_frame {
  std::string_view bound;
  replay_result at_bound;
  std::string baseline;
  replay_result at_baseline;

  /// The share of what the bound has over the baseline that `hits` makes up; nothing where there is
  /// nothing to make up.
  std::optional<double> captured(std::uint64_t hits) const;
};

/// One replay and what it gave.
struct finished_replay {
  const asked_policy* policy;
  std::int64_t capacity;
  replay_result result;
  const replay_frame* frame = nullptr;  ///< null where no bound was asked for
};

/// "prefix" or "flat".
const char* name_of(replay_rule rule);
/// Hits by accesses.
double hit_rate(const replay_result& result);

/// One object for a replay.
json describe(const finished_replay& each, replay_rule rule, double read_seconds);
/// Policies as rows, capacities as columns; `all` holds each policy's capacities in one order.
/// Below them the bound and each policy's share of the headroom.
void print_table(const std::vector<finished_replay>& all, std::size_t capacities);
/// Capacities as rows, policies as columns, the bound last. Below each policy's share of the
/// headroom.
void print_curve(const std::vector<finished_replay>& all, std::size_t capacities);

}  // namespace refrain
