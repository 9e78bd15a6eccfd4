#include "actors/router.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/reporter.hpp"

namespace refrain {

namespace {

// The blocks of a prompt that it may find; behind them stand those of its answer.
std::span<const block_key> chain_of(const prompt& what, token_count block_tokens) {
  std::size_t blocks = what.keys.size();
  if (what.layout) {
    blocks = what.layout->prompt_keys;
  } else if (!what.short_last_block) {
    blocks = std::min(blocks, static_cast<std::size_t>(what.input_tokens / block_tokens));
  }
  return std::span{what.keys}.first(blocks);
}

std::size_t prompt_executors(const contender_plan& plan) {
  std::int64_t apart = plan.disaggregation.prefill_executors;
  return static_cast<std::size_t>(apart > 0 ? apart : plan.executors);
}

}  // namespace

router::router(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config},
      context_{*context},
      view_{context->executors.size()},
      prompts_{context->plan.routing, needs_of_routing(context->plan), 0,
               prompt_executors(context->plan)} {
  if (context->plan.disaggregation.prefill_executors > 0) {
    std::size_t first = prompt_executors(context->plan);
    decodes_.emplace(context->plan.disaggregation.routing, needs_of_routing(context->plan), first,
                     context->executors.size() - first);
  }
}

caf::behavior router::make_behavior() {
  context_.monitor.protect(this, "router");
  return {
      [this](prompt& what) { forward(what); },
      [this](const kv_changes& news) { view_.apply(news.executor, news.changes); },
      [this](const first_tokens& news) {
        for (request_id id : news.requests) {
          prompts_.note_first_token(id);
        }
      },
  };
}

placement router::place(routing_pool& pool, const prompt& what) {
  token_count block_tokens = context_.plan.keys.block_tokens;
  return pool.place(what, chain_of(what, block_tokens), view_, context_.truth.get(), block_tokens);
}

void router::forward(prompt& what) {
  placement sent = place(prompts_, what);
  prompts_.note_sent(sent, false);
  auto reply = make_response_promise();
  bool goes_on = decodes_ && what.output_tokens > 1;
  prompt rest = goes_on ? what : prompt{};
  request(context_.executors[prompts_.executor(sent)], caf::infinite, std::move(what))
      .then(
          [this, sent, reply, goes_on, rest = std::move(rest)](answer& result) mutable {
            prompts_.note_over(sent);
            result.routed_tokens = sent.routed_tokens;
            result.routable_tokens = sent.routable_tokens;
            if (goes_on && result.refused == refusal::none) {
              hand_over(rest, result, std::move(reply));
            } else {
              reply.deliver(std::move(result));
            }
          },
          [reply](caf::error& failure) mutable { reply.deliver(std::move(failure)); });
}

// The prompt is computed; another executor goes on with it.
void router::hand_over(prompt& what, answer& so_far, caf::response_promise reply) {
  placement sent = place(*decodes_, what);
  decodes_->note_sent(sent, true);
  request(context_.executors[decodes_->executor(sent)], caf::infinite,
          handed_prompt{std::move(what), std::move(so_far)})
      .then(
          [this, sent, reply](answer& result) mutable {
            decodes_->note_over(sent);
            reply.deliver(std::move(result));
          },
          [reply](caf::error& failure) mutable { reply.deliver(std::move(failure)); });
}

}  // namespace refrain
