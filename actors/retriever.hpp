// The retriever: the search before the prompt. The traces and generators of today name their
// documents, so it skips the search but not its latency, and passes the prompt on to its session's
// router.
#pragma once

#include <caf/event_based_actor.hpp>

#include "actors/context.hpp"
#include "actors/messages.hpp"

namespace refrain {

class retriever final : public caf::event_based_actor {
 public:
  retriever(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  const caf::actor& router_of(session_id session) const;

  contender_context& context_;
};

}  // namespace refrain
