// One contender of a scenario: an actor system with its own timeline, run to its end on the calling
// thread. Contenders share nothing mutable, so they may run on several threads at once and give the
// same results.
#pragma once

#include <atomic>
#include <caf/fwd.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/plan.hpp"
#include "analysis/results_writer.hpp"

namespace refrain {

/// What a running contender tells and is told, from and to another thread.
struct contender_control {
  std::atomic<std::uint64_t> finished{0};   ///< requests served or refused so far
  const std::atomic<bool>* stop = nullptr;  ///< set to end the run early
  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

/// The run was ended from outside before it was over: exit status 130.
class interrupted : public std::runtime_error {
 public:
  interrupted() : std::runtime_error{"interrupted"} {}
};

struct contender_context;

/// Makes the actor that is told of every request_over, executor_sample and tier_summary, and that
/// counts the first in control.finished; close_books is the last it hears.
using recorder_maker = std::function<caf::actor(caf::actor_system&, contender_context&)>;

/// Runs the contender and writes its tables (requests, executors, tiers, totals; see
/// analysis/schema.md). Throws run_error with the words of the actor that failed, or `interrupted`.
void run_contender(const workload_plan& workload, const contender_plan& plan,
                   contender_writer results, contender_control& control);
/// The same with a recorder of one's own.
void run_contender(const workload_plan& workload, const contender_plan& plan,
                   const recorder_maker& record, contender_control& control);

}  // namespace refrain
