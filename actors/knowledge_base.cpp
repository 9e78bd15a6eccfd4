#include "actors/knowledge_base.hpp"

#include <algorithm>
#include <caf/all.hpp>

namespace refrain {

knowledge_base::knowledge_base(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config}, context_{*context} {}

caf::behavior knowledge_base::make_behavior() {
  context_.monitor.protect(this, "knowledge base");
  await_next();
  return {
      [this](update_due) { update(); },
  };
}

void knowledge_base::await_next() {
  if (auto due = context_.knowledge->next_update()) {
    delayed_send(this, std::max(*due - context_.time.now(), sim_time{0}), update_due{});
  }
}

// A retriever that searched at this very moment may have played the update already.
void knowledge_base::update() {
  context_.knowledge->advance(context_.time.now());
  for (const corpus_change& change : context_.knowledge->take_changes()) {
    announce(change);
  }
  await_next();
}

void knowledge_base::announce(const corpus_change& change) {
  send(context_.recorder, corpus_changed{change});
  if (change.outdated.empty() || context_.plan.keys.chunk_kinds == 0) {
    return;
  }
  // Questions over a corpus have no salt.
  auto keys = std::make_shared<std::vector<block_key>>();
  for (const segment& chunk : change.outdated) {
    append_chunk_keys(chunk_root(0, chunk), chunk.tokens, context_.plan.keys.block_tokens, *keys);
  }
  caf::message what = caf::make_message(invalidate_blocks{std::move(keys)});
  auto tell = [&](const caf::actor& whom) {
    if (context_.plan.knowledge.delay > sim_time{0}) {
      delayed_send(whom, context_.plan.knowledge.delay, what);
    } else {
      send(whom, what);
    }
  };
  std::ranges::for_each(context_.executors, tell);
  for (const std::vector<caf::actor>& instances : context_.tiers) {
    std::ranges::for_each(instances, tell);
  }
}

}  // namespace refrain
