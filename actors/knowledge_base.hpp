// The knowledge base: plays the updates of the corpus at their virtual times, whatever is under way
// then, and tells every executor and every tier, after the propagation delay, of which chunks the
// KV is outdated. A search at an update's time or later finds the document as it is then: whoever
// comes first, retriever or knowledge base, brings the corpus up to the moment.
#pragma once

#include <caf/event_based_actor.hpp>
#include <memory>
#include <vector>

#include "actors/context.hpp"
#include "actors/messages.hpp"

namespace refrain {

class knowledge_base final : public caf::event_based_actor {
 public:
  knowledge_base(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  void await_next();
  void update();
  void announce(const corpus_change& change);

  contender_context& context_;
};

}  // namespace refrain
