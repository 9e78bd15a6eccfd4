// What the actors of one contender know of each other. Filled in once, before virtual time starts.
#pragma once

#include <caf/actor.hpp>
#include <memory>
#include <vector>

#include "actors/composer.hpp"
#include "actors/contender.hpp"
#include "actors/key_view.hpp"
#include "actors/lost_tokens.hpp"
#include "actors/plan.hpp"
#include "actors/real_sample.hpp"
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
  caf::actor knowledge_base{};  ///< where the corpus changes
  std::vector<caf::actor> routers{};
  caf::actor recorder{};
  std::vector<caf::actor> executors{};
  std::vector<std::vector<caf::actor>> tiers{};  // by plan.tiers: one a node, or one for all

  /// What executors hold at this moment; kept only where a routing policy reads what they hold and
  /// routers may know less.
  std::unique_ptr<key_view> truth{};

  std::unique_ptr<living_corpus> knowledge{};  ///< where the corpus changes

  composer composing{plan, workload.info.texts,
                     workload.info.words};  ///< of prompts, for all sessions

  real_sample sample{plan};  ///< what is computed for real beside the simulation

  block_history history{};  ///< of all executors and tiers, to say why tokens are computed

  std::uint64_t injected = 0;  ///< prompts that sessions have sent
  std::uint64_t over = 0;      ///< of these, served or refused
};

}  // namespace refrain
