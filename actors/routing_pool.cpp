#include "actors/routing_pool.hpp"

#include <algorithm>

#include "traces/error.hpp"

namespace refrain {

namespace {

// At least one token is always computed.
token_count tokens_of(std::int64_t blocks, token_count block_tokens, const prompt& what) {
  std::int64_t most = std::max<std::int64_t>(what.input_tokens - 1, 0);
  std::int64_t tokens = blocks * block_tokens;
  if (what.layout && blocks > 0) {
    tokens = what.layout->end_of(static_cast<std::size_t>(blocks - 1));
  }
  return token_count{std::min(tokens, most)};
}

}  // namespace

routing_pool::routing_pool(const policy_choice& policy, routing_needs needs, std::size_t first,
                           std::size_t count)
    : choice_{policy},
      needs_{needs},
      policy_{registry<routing_entry>::find(policy.name, "policies.routing").make(choice_.values)},
      first_{first},
      executors_(count) {}

std::span<std::int64_t> routing_pool::runs_in(const key_view& view,
                                              std::span<const block_key> chain) {
  runs_.resize(view.executors());
  view.leading_runs(chain, runs_);
  return std::span{runs_}.subspan(first_, executors_.size());
}

placement routing_pool::place(const prompt& what, std::span<const block_key> chain,
                              const key_view& view, const key_view* truth,
                              token_count block_tokens) {
  std::int64_t longest = 0;
  if (needs_.matches) {
    std::span<const std::int64_t> runs = runs_in(view, chain);
    longest = std::ranges::max(runs);
    for (std::size_t e = 0; e < executors_.size(); ++e) {
      executors_[e].matched_blocks = runs[e];
      executors_[e].matched_tokens = tokens_of(runs[e], block_tokens, what);
    }
    if (truth != nullptr) {
      longest = std::ranges::max(runs_in(*truth, chain));
    }
  }
  routed_request asked{what.id, what.session, what.input_tokens, what.last_turn};
  std::size_t to = policy_->choose(asked, executors_);
  if (to >= executors_.size()) {
    throw run_error{"policy \"" + choice_.name + "\" chose executor " + std::to_string(to) +
                    " of " + std::to_string(executors_.size())};
  }
  return {what.id,
          to,
          what.input_tokens,
          what.input_tokens + what.output_tokens,
          executors_[to].matched_tokens,
          tokens_of(longest, block_tokens, what)};
}

void routing_pool::note_sent(const placement& sent, bool started) {
  executor_view& e = executors_[sent.place];
  ++e.outstanding_requests;
  e.outstanding_tokens += sent.tokens;
  if (!needs_.progress) {
    return;
  }
  if (started) {
    e.decode_context += sent.input_tokens;
  } else {
    e.prefill_tokens += sent.input_tokens - sent.routed_tokens;
    without_first_token_.emplace(sent.id, sent);
  }
}

// Executors tell all routers; the one that sent the request knows it.
void routing_pool::note_first_token(request_id id) {
  auto found = without_first_token_.find(id);
  if (found == without_first_token_.end()) {
    return;
  }
  const placement& sent = found->second;
  executor_view& e = executors_[sent.place];
  e.prefill_tokens -= sent.input_tokens - sent.routed_tokens;
  e.decode_context += sent.input_tokens;
  without_first_token_.erase(found);
}

void routing_pool::note_over(const placement& sent) {
  executor_view& e = executors_[sent.place];
  --e.outstanding_requests;
  e.outstanding_tokens -= sent.tokens;
  if (needs_.progress) {
    note_first_token(sent.id);
    e.decode_context -= sent.input_tokens;
  }
}

}  // namespace refrain
