#include "actors/router.hpp"

#include <caf/all.hpp>

#include "actors/messages.hpp"

namespace refrain {

router::router(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config},
      context_{*context},
      policy_{registry<routing_entry>::find(context->plan.routing.name, "policies.routing")
                  .make(context->plan.routing.values)},
      executors_(context->executors.size()) {}

caf::behavior router::make_behavior() {
  context_.monitor.protect(this, "router");
  return {
      [this](prompt& what) {
        std::size_t to = policy_->choose({what.id, what.session, what.input_tokens}, executors_);
        if (to >= executors_.size()) {
          throw run_error{"policy \"" + context_.plan.routing.name + "\" chose executor " +
                          std::to_string(to) + " of " + std::to_string(executors_.size())};
        }
        token_count tokens = what.input_tokens + what.output_tokens;
        ++executors_[to].outstanding_requests;
        executors_[to].outstanding_tokens += tokens;
        auto reply = make_response_promise();
        request(context_.executors[to], caf::infinite, std::move(what))
            .then(
                [this, to, tokens, reply](answer& result) mutable {
                  --executors_[to].outstanding_requests;
                  executors_[to].outstanding_tokens -= tokens;
                  reply.deliver(std::move(result));
                },
                [reply](caf::error& failure) mutable { reply.deliver(std::move(failure)); });
      },
  };
}

}  // namespace refrain
