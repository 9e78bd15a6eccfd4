#include "actors/retriever.hpp"

#include <caf/all.hpp>

#include "traces/random.hpp"

namespace refrain {

retriever::retriever(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config}, context_{*context} {}

caf::behavior retriever::make_behavior() {
  context_.monitor.protect(this, "retriever");
  return {
      [this](prompt& what) {
        retrieved later{std::move(what), make_response_promise()};
        if (context_.plan.retrieval_latency > sim_time{0}) {
          delayed_send(this, context_.plan.retrieval_latency, std::move(later));
        } else {
          send(this, std::move(later));
        }
      },
      [this](retrieved& ready) {
        request(router_of(ready.what.session), caf::infinite, std::move(ready.what))
            .then(
                [reply = ready.reply](answer& result) mutable { reply.deliver(std::move(result)); },
                [reply = ready.reply](caf::error& failure) mutable {
                  reply.deliver(std::move(failure));
                });
      },
  };
}

// A session keeps its router, as when a front end balances by connection; where rows have no
// sessions each has its own.
const caf::actor& retriever::router_of(session_id session) const {
  return context_.routers[mix64(session) % context_.routers.size()];
}

}  // namespace refrain
