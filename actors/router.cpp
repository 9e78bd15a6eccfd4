#include "actors/router.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/reporter.hpp"

namespace refrain {

namespace {

// The blocks of a prompt that it may find; behind them stand those of its answer.
std::span<const block_key> chain_of(const prompt& what, token_count block_tokens) {
  std::size_t blocks = what.keys.size();
  if (!what.short_last_block) {
    blocks = std::min(blocks, static_cast<std::size_t>(what.input_tokens / block_tokens));
  }
  return std::span{what.keys}.first(blocks);
}

// At least one token is always computed.
token_count tokens_of(std::int64_t blocks, token_count block_tokens, token_count input_tokens) {
  std::int64_t most = std::max<std::int64_t>(input_tokens - 1, 0);
  return token_count{std::min<std::int64_t>(blocks * block_tokens, most)};
}

}  // namespace

router::router(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config},
      context_{*context},
      needs_{needs_of_routing(context->plan)},
      policy_{registry<routing_entry>::find(context->plan.routing.name, "policies.routing")
                  .make(context->plan.routing.values)},
      executors_(context->executors.size()),
      view_{executors_.size()},
      runs_(executors_.size()) {}

caf::behavior router::make_behavior() {
  context_.monitor.protect(this, "router");
  return {
      [this](prompt& what) { forward(what); },
      [this](const kv_changes& news) { view_.apply(news.executor, news.changes); },
      [this](const first_tokens& news) {
        for (request_id id : news.requests) {
          note_first_token(id);
        }
      },
  };
}

void router::forward(prompt& what) {
  placement sent = place(what);
  note_sent(sent);
  auto reply = make_response_promise();
  request(context_.executors[sent.executor], caf::infinite, std::move(what))
      .then(
          [this, sent, reply](answer& result) mutable {
            note_over(sent);
            result.routed_tokens = sent.routed_tokens;
            result.routable_tokens = sent.routable_tokens;
            reply.deliver(std::move(result));
          },
          [reply](caf::error& failure) mutable { reply.deliver(std::move(failure)); });
}

router::placement router::place(const prompt& what) {
  auto chain = chain_of(what, context_.plan.keys.block_tokens);
  if (needs_.matches) {
    match(chain, what.input_tokens);
  }
  routed_request asked{what.id, what.session, what.input_tokens, what.last_turn};
  std::size_t to = policy_->choose(asked, executors_);
  if (to >= executors_.size()) {
    throw run_error{"policy \"" + context_.plan.routing.name + "\" chose executor " +
                    std::to_string(to) + " of " + std::to_string(executors_.size())};
  }
  return {what.id,
          to,
          what.input_tokens,
          what.input_tokens + what.output_tokens,
          executors_[to].matched_tokens,
          needs_.matches ? routable(chain, what.input_tokens) : token_count{0}};
}

void router::match(std::span<const block_key> chain, token_count input_tokens) {
  view_.leading_runs(chain, runs_);
  for (std::size_t e = 0; e < executors_.size(); ++e) {
    executors_[e].matched_blocks = runs_[e];
    executors_[e].matched_tokens =
        tokens_of(runs_[e], context_.plan.keys.block_tokens, input_tokens);
  }
}

token_count router::routable(std::span<const block_key> chain, token_count input_tokens) const {
  std::int64_t blocks =
      context_.truth ? context_.truth->longest_run(chain) : std::ranges::max(runs_);
  return tokens_of(blocks, context_.plan.keys.block_tokens, input_tokens);
}

void router::note_sent(const placement& sent) {
  executor_view& e = executors_[sent.executor];
  ++e.outstanding_requests;
  e.outstanding_tokens += sent.tokens;
  if (needs_.progress) {
    e.prefill_tokens += sent.input_tokens - sent.routed_tokens;
    without_first_token_.emplace(sent.id, sent);
  }
}

// Executors tell all routers; the one that sent the request knows it.
void router::note_first_token(request_id id) {
  auto found = without_first_token_.find(id);
  if (found == without_first_token_.end()) {
    return;
  }
  const placement& sent = found->second;
  executor_view& e = executors_[sent.executor];
  e.prefill_tokens -= sent.input_tokens - sent.routed_tokens;
  e.decode_context += sent.input_tokens;
  without_first_token_.erase(found);
}

void router::note_over(const placement& sent) {
  executor_view& e = executors_[sent.executor];
  --e.outstanding_requests;
  e.outstanding_tokens -= sent.tokens;
  if (needs_.progress) {
    note_first_token(sent.id);
    e.decode_context -= sent.input_tokens;
  }
}

}  // namespace refrain
