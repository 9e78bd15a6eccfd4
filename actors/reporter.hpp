// What an executor tells the routers: which blocks became findable and which were evicted, in one
// message per event of the executor, and whose first token is out. Block news travels for
// `routers.delay`; with `routers.poll` it is gathered first and sent at multiples of that interval,
// as when every router asked for it then. First tokens pass through the router in any case, so
// their news takes no time. What the routing policy does not need is not sent. Plain object that
// sends in the name of its executor.
#pragma once

#include <caf/event_based_actor.hpp>
#include <vector>

#include "actors/context.hpp"
#include "actors/key_view.hpp"
#include "actors/kv_manager.hpp"
#include "policies/routing.hpp"

namespace refrain {

/// What the contender's routers keep: what the routing policy reads, and what the report asks for.
routing_needs needs_of_routing(const contender_plan& plan);

class reporter {
 public:
  reporter(caf::event_based_actor& executor, contender_context& context, std::uint32_t index);

  /// Whether the kv_manager is to collect its news for this.
  bool wants_blocks() const { return needs_.matches; }

  /// Tells of blocks, at the end of an event and before its answers.
  void tell_blocks(const kv_news& news);
  /// Tells of requests whose first token is out.
  void tell_first_tokens(const std::vector<request_id>& started);
  /// An instant of polling has come.
  void poll();

 private:
  void send_gathered();

  caf::event_based_actor& executor_;
  contender_context& context_;
  std::uint32_t index_;
  routing_needs needs_;
  std::vector<key_change> gathered_;  // since routers were last told
};

}  // namespace refrain
