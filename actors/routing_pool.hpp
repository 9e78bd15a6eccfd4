// The executors among which a routing policy chooses, and what one router knows of them: what it
// has sent there, what has come back, and what they have told of their blocks and first tokens so
// far. Plain object: no time, no messages.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <span>
#include <vector>

#include "actors/key_view.hpp"
#include "actors/messages.hpp"
#include "actors/plan.hpp"
#include "policies/routing.hpp"

namespace refrain {

/// A request that was sent on, until its answer.
struct placement {
  request_id id;
  std::size_t place = 0;  ///< in its pool
  token_count input_tokens;
  token_count tokens;           ///< prompt and output
  token_count routed_tokens;    ///< that the view promised there
  token_count routable_tokens;  ///< that some executor of the pool had
};

class routing_pool {
 public:
  /// Executors `first` to `first + count - 1`, chosen by `policy`.
  routing_pool(const policy_choice& policy, routing_needs needs, std::size_t first,
               std::size_t count);

  /// Chooses for a prompt whose findable chain is `chain`. `view` is what the router believes;
  /// `truth`, where it may differ, is what executors hold. Throws run_error when the policy names
  /// an executor that does not exist.
  placement place(const prompt& what, std::span<const block_key> chain, const key_view& view,
                  const key_view* truth, token_count block_tokens);
  std::size_t executor(const placement& sent) const { return first_ + sent.place; }

  /// `started`: its first token is out already.
  void note_sent(const placement& sent, bool started);
  void note_first_token(request_id id);
  void note_over(const placement& sent);

 private:
  std::span<std::int64_t> runs_in(const key_view& view, std::span<const block_key> chain);

  policy_choice choice_;
  routing_needs needs_;
  std::unique_ptr<routing> policy_;
  std::size_t first_;
  std::vector<executor_view> executors_;
  std::vector<std::int64_t> runs_;  // leading blocks of the prompt at hand, by executor of any pool
  absl::flat_hash_map<request_id, placement> without_first_token_;  // kept for needs_.progress
};

}  // namespace refrain
