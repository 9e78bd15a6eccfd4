// The router: asks the routing policy which executor serves a prompt, sends it there and passes the
// answer back. What it knows of an executor is what it has sent there, what has come back, and what
// the executor has told of its blocks and first tokens so far, so its view may be stale. Several
// routers know nothing of each other: each counts its own requests only.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <caf/event_based_actor.hpp>
#include <memory>
#include <span>
#include <vector>

#include "actors/context.hpp"
#include "actors/key_view.hpp"
#include "actors/messages.hpp"
#include "policies/routing.hpp"

namespace refrain {

class router final : public caf::event_based_actor {
 public:
  router(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  // A request that was sent on, until its answer.
  struct placement {
    request_id id;
    std::size_t executor;
    token_count input_tokens;
    token_count tokens;           // prompt and output
    token_count routed_tokens;    // that the view promised there
    token_count routable_tokens;  // that some executor had
  };

  void match(std::span<const block_key> chain, token_count input_tokens);
  token_count routable(std::span<const block_key> chain, token_count input_tokens) const;
  placement place(const prompt& what);
  void note_sent(const placement& sent);
  void note_first_token(request_id id);
  void note_over(const placement& sent);
  void forward(prompt& what);

  contender_context& context_;
  routing_needs needs_;
  std::unique_ptr<routing> policy_;
  std::vector<executor_view> executors_;
  key_view view_;
  std::vector<std::int64_t> runs_;  // leading blocks of the prompt at hand, by executor
  absl::flat_hash_map<request_id, placement> without_first_token_;  // kept for needs_.progress
};

}  // namespace refrain
