// The router: asks the routing policy which executor serves a prompt, sends it there and passes the
// answer back. Where prefill and decode are apart it chooses twice: who computes the prompt, and
// who goes on from there. What it knows of executors may be stale. Several routers know nothing of
// each other: each counts its own requests only.
#pragma once

#include <caf/event_based_actor.hpp>
#include <optional>
#include <span>

#include "actors/context.hpp"
#include "actors/key_view.hpp"
#include "actors/messages.hpp"
#include "actors/routing_pool.hpp"

namespace refrain {

class router final : public caf::event_based_actor {
 public:
  router(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  placement place(routing_pool& pool, const prompt& what);
  void forward(prompt& what);
  void hand_over(prompt& what, answer& so_far, caf::response_promise reply);

  contender_context& context_;
  key_view view_;
  routing_pool prompts_;
  std::optional<routing_pool> decodes_;  // where prefill and decode are apart
};

}  // namespace refrain
