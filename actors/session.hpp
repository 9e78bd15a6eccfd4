// A session: one conversation. It sends a turn when it is due (at the trace's time, and for a later
// turn not before the previous answer and its think time), waits for the answer and reports the
// request to the recorder.
#pragma once

#include <caf/event_based_actor.hpp>
#include <deque>

#include "actors/context.hpp"
#include "actors/messages.hpp"

namespace refrain {

class session final : public caf::event_based_actor {
 public:
  session(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  void await_next();
  void send_next();
  void receive(const answer& result);

  contender_context& context_;
  std::deque<turn> turns_;  // the first is being waited for or answered
  sim_time last_answer_{0};
  sim_time sent_{0};
};

}  // namespace refrain
