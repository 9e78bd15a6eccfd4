// What the actors of one contender know of each other. Filled in once, before virtual time starts.
#pragma once

#include <caf/actor.hpp>
#include <vector>

#include "actors/contender.hpp"
#include "actors/plan.hpp"
#include "actors/run_monitor.hpp"
#include "actors/timeline.hpp"

namespace refrain {

/// One contender's plan, clock and cast.
struct contender_context {
  const workload_plan& workload;
  const contender_plan& plan;
  contender_control& control;
  timeline& time;
  run_monitor& monitor;

  caf::actor population{};
  caf::actor retriever{};
  caf::actor router{};
  caf::actor recorder{};
  std::vector<caf::actor> executors{};
  std::vector<std::vector<caf::actor>> tiers{};  // by plan.tiers: one a node, or one for all

  std::uint64_t injected = 0;  ///< prompts that sessions have sent
  std::uint64_t over = 0;      ///< of these, served or refused
};

}  // namespace refrain
