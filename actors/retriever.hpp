// The retriever: the search before the prompt. Where the scenario has a corpus it searches it for
// the prompt's question, puts the chunks it finds before the question and makes the keys; real
// searches are timed, and the time they take here passes in virtual time, unless the scenario
// states one. Traces that name their documents skip the search but not the stated latency. Searches
// of different prompts do not wait for each other.
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
  void search(prompt& what, search_result& found) const;
  void pass_on(retrieved& ready);
  const caf::actor& router_of(session_id session) const;

  contender_context& context_;
};

}  // namespace refrain
