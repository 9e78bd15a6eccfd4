#include "actors/contender.hpp"

#include <caf/all.hpp>

#include "actors/context.hpp"
#include "actors/executor.hpp"
#include "actors/knowledge_base.hpp"
#include "actors/messages.hpp"
#include "actors/population.hpp"
#include "actors/recorder.hpp"
#include "actors/reporter.hpp"
#include "actors/retriever.hpp"
#include "actors/router.hpp"
#include "actors/tier.hpp"
#include "gpu/cpu/decoder.hpp"

namespace refrain {

namespace {

void spawn_tiers(caf::actor_system& system, contender_context& context) {
  const contender_plan& plan = context.plan;
  std::int64_t nodes = (plan.executors - 1) / plan.executors_per_node + 1;
  context.tiers.resize(plan.tiers.size());
  // From the farthest up, so that each knows the one below.
  for (std::size_t i = plan.tiers.size(); i-- > 0;) {
    std::int64_t instances = plan.tiers[i].per_node ? nodes : 1;
    bool feeds = i + 1 < plan.tiers.size() && plan.tiers[i + 1].write == tier_write::demote;
    for (std::int64_t n = 0; n < instances; ++n) {
      caf::actor below;
      if (feeds) {
        const auto& next = context.tiers[i + 1];
        below = next.size() > 1 ? next[static_cast<std::size_t>(n)] : next.front();
      }
      context.tiers[i].push_back(system.spawn<tier>(&context, static_cast<std::uint32_t>(i),
                                                    static_cast<std::uint32_t>(n), below));
    }
  }
}

bool routers_may_be_stale(const router_plan& routers) {
  return routers.delay > sim_time{0} || routers.poll > sim_time{0};
}

void spawn_cast(caf::actor_system& system, contender_context& context,
                const recorder_maker& record) {
  if (needs_of_routing(context.plan).matches && routers_may_be_stale(context.plan.routers)) {
    context.truth = std::make_unique<key_view>(static_cast<std::size_t>(context.plan.executors));
  }
  const knowledge_plan& changing = context.plan.knowledge;
  if (changing.plays()) {
    context.knowledge =
        std::make_unique<living_corpus>(changing.updates, changing.questions,
                                        context.plan.retrieval.search->settings(), changing.rule);
  }
  context.recorder = record(system, context);
  spawn_tiers(system, context);
  for (std::int64_t i = 0; i < context.plan.executors; ++i) {
    context.executors.push_back(system.spawn<executor>(&context, static_cast<std::uint32_t>(i)));
  }
  for (std::int64_t i = 0; i < context.plan.routers.count; ++i) {
    context.routers.push_back(system.spawn<router>(&context));
  }
  context.retriever = system.spawn<retriever>(&context);
  if (context.plan.knowledge.plays()) {
    context.knowledge_base = system.spawn<knowledge_base>(&context);
  }
  context.population = system.spawn<population>(&context);
}

// A policy that cannot be made fails before any actor has a name.
void spawn_named_cast(caf::actor_system& system, contender_context& context,
                      const recorder_maker& record) {
  try {
    spawn_cast(system, context, record);
  } catch (const run_error& error) {
    throw run_error{context.plan.name + ": " + error.what()};
  } catch (const computing_stopped&) {  // while weights were packed
    throw interrupted{};
  }
}

// Executors and tiers: whoever has something to hand in at the end.
std::vector<caf::actor> bookkeepers(const contender_context& context) {
  std::vector<caf::actor> all = context.executors;
  for (const std::vector<caf::actor>& instances : context.tiers) {
    all.insert(all.end(), instances.begin(), instances.end());
  }
  return all;
}

void run_until(contender_context& context, const std::function<bool()>& over) {
  context.time.run([&] { return context.monitor.failed() || context.control.stopped() || over(); });
  // First, since an engine that is told to stop fails the iteration that it computes.
  if (context.control.stopped()) {
    throw interrupted{};
  }
  if (context.monitor.failed()) {
    throw run_error{context.plan.name + ": " + context.monitor.failure()};
  }
}

void run_requests(contender_context& context) {
  run_until(context, [&context] {
    return context.control.finished.load(std::memory_order_relaxed) == context.workload.requests;
  });
  if (context.injected != context.over || context.over != context.workload.requests) {
    throw run_error{context.plan.name + ": nothing is left to happen, but of " +
                    std::to_string(context.workload.requests) + " requests " +
                    std::to_string(context.injected) + " were sent and " +
                    std::to_string(context.over) + " are over"};
  }
}

void play(contender_context& context) {
  run_requests(context);
  // Transfers that are still under way no longer matter; the books are closed at this instant.
  context.time.clock().cancel_all();
  auto never = [] { return false; };
  for (const caf::actor& each : bookkeepers(context)) {
    caf::anon_send(each, close_books{});
  }
  run_until(context, never);
  caf::anon_send(context.recorder, close_books{});
  run_until(context, never);
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
  dismiss(bookkeepers(context));
  dismiss({context.population, context.retriever, context.knowledge_base});
  dismiss(context.routers);
  dismiss({context.recorder});
}

}  // namespace

void run_contender(const workload_plan& workload, const contender_plan& plan,
                   contender_writer results, contender_control& control) {
  auto record = [&results](caf::actor_system& system, contender_context& context) {
    return system.spawn<recorder>(&context, results);
  };
  run_contender(workload, plan, record, control);
}

void run_contender(const workload_plan& workload, const contender_plan& plan,
                   const recorder_maker& record, contender_control& control) {
  caf::actor_system_config config;
  timeline::install(config);
  run_monitor monitor;
  caf::actor_system system{config};
  // After a failure sessions may still wait for answers that never come.
  system.await_actors_before_shutdown(false);
  contender_context context{workload, plan, control, timeline::of(system), monitor};
  try {
    spawn_named_cast(system, context, record);
    play(context);
  } catch (...) {
    context.time.clock().cancel_all();
    dismiss_cast(context);
    throw;
  }
  dismiss_cast(context);
}

}  // namespace refrain
