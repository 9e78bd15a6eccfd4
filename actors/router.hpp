// The router: asks the routing policy which executor serves a prompt, sends it there and passes the
// answer back. What it knows of an executor is what it has sent there and what has come back.
#pragma once

#include <caf/event_based_actor.hpp>
#include <memory>
#include <vector>

#include "actors/context.hpp"
#include "policies/routing.hpp"

namespace refrain {

class router final : public caf::event_based_actor {
 public:
  router(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  contender_context& context_;
  std::unique_ptr<routing> policy_;
  std::vector<executor_view> executors_;
};

}  // namespace refrain
