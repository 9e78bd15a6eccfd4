#include "actors/contender.hpp"

#include <caf/all.hpp>

#include "actors/context.hpp"
#include "actors/executor.hpp"
#include "actors/messages.hpp"
#include "actors/population.hpp"
#include "actors/recorder.hpp"
#include "actors/reporter.hpp"
#include "actors/retriever.hpp"
#include "actors/router.hpp"

namespace refrain {

namespace {

bool routers_may_be_stale(const router_plan& routers) {
  return routers.delay > sim_time{0} || routers.poll > sim_time{0};
}

void spawn_cast(caf::actor_system& system, contender_context& context, contender_writer results) {
  if (needs_of_routing(context.plan).matches && routers_may_be_stale(context.plan.routers)) {
    context.truth = std::make_unique<key_view>(static_cast<std::size_t>(context.plan.executors));
  }
  context.recorder = system.spawn<recorder>(&context, results);
  for (std::int64_t i = 0; i < context.plan.executors; ++i) {
    context.executors.push_back(system.spawn<executor>(&context, static_cast<std::uint32_t>(i)));
  }
  for (std::int64_t i = 0; i < context.plan.routers.count; ++i) {
    context.routers.push_back(system.spawn<router>(&context));
  }
  context.retriever = system.spawn<retriever>(&context);
  context.population = system.spawn<population>(&context);
}

void run_until_quiet(contender_context& context) {
  auto stop = [&context] {
    return context.monitor.failed() || (context.control.stop != nullptr &&
                                        context.control.stop->load(std::memory_order_relaxed));
  };
  context.time.run(stop);
  if (context.monitor.failed()) {
    throw run_error{context.plan.name + ": " + context.monitor.failure()};
  }
  if (stop()) {
    throw interrupted{};
  }
}

void play(contender_context& context) {
  run_until_quiet(context);
  if (context.injected != context.over || context.over != context.workload.requests) {
    throw run_error{context.plan.name + ": nothing is left to happen, but of " +
                    std::to_string(context.workload.requests) + " requests " +
                    std::to_string(context.injected) + " were sent and " +
                    std::to_string(context.over) + " are over"};
  }
  for (const caf::actor& each : context.executors) {
    caf::anon_send(each, close_books{});
  }
  run_until_quiet(context);
  caf::anon_send(context.recorder, close_books{});
  run_until_quiet(context);
}

// Executors go first: their unanswered requests fail back through router and retriever to the
// sessions, which end.
void dismiss_cast(contender_context& context) {
  auto dismiss = [&context](const std::vector<caf::actor>& cast) {
    for (const caf::actor& each : cast) {
      if (each) {
        caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
      }
    }
    context.time.run([] { return false; });
  };
  dismiss(context.executors);
  dismiss({context.population, context.retriever});
  dismiss(context.routers);
  dismiss({context.recorder});
}

}  // namespace

void run_contender(const workload_plan& workload, const contender_plan& plan,
                   contender_writer results, contender_control& control) {
  caf::actor_system_config config;
  timeline::install(config);
  run_monitor monitor;
  caf::actor_system system{config};
  // After a failure sessions may still wait for answers that never come.
  system.await_actors_before_shutdown(false);
  contender_context context{workload, plan, control, timeline::of(system), monitor};
  try {
    spawn_cast(system, context, results);
    play(context);
  } catch (...) {
    context.time.clock().cancel_all();
    dismiss_cast(context);
    throw;
  }
  dismiss_cast(context);
}

}  // namespace refrain
