#include "actors/retriever.hpp"

#include <caf/all.hpp>
#include <chrono>

#include "traces/random.hpp"

namespace refrain {

retriever::retriever(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config}, context_{*context} {}

caf::behavior retriever::make_behavior() {
  context_.monitor.protect(this, "retriever");
  return {
      [this](prompt& what) {
        retrieved later{std::move(what), {}, make_response_promise()};
        search(later.what, later.found);
        if (later.found.took > sim_time{0}) {
          delayed_send(this, later.found.took, std::move(later));
        } else {
          send(this, std::move(later));
        }
      },
      [this](retrieved& ready) { pass_on(ready); },
  };
}

/// What is found is what the corpus holds at this moment; it is there once the search has taken its
/// time.
void retriever::search(prompt& what, search_result& found) const {
  const retrieval_plan& plan = context_.plan.retrieval;
  found.took = plan.latency;
  if (plan.search == nullptr) {
    return;
  }
  std::size_t place = place_of_question(what.segments);
  living_corpus* changing = context_.knowledge.get();
  if (changing != nullptr) {
    changing->advance(context_.time.now());
  }
  auto text = place < what.segments.size() ? plan.search->question(what.segments[place].content)
                                           : std::nullopt;
  if (text) {
    auto begin = std::chrono::steady_clock::now();
    std::vector<segment> documents =
        changing != nullptr ? changing->documents_for(*text) : plan.search->documents_for(*text);
    if (plan.measured) {
      found.took += std::chrono::steady_clock::now() - begin;
    }
    found.chunks = static_cast<std::int64_t>(documents.size());
    found.tokens = insert_documents(what.segments, place, documents);
    what.input_tokens += found.tokens;
  }
  refrain::request whole{};
  whole.session = what.session;
  whole.last_turn = what.last_turn;
  whole.input_tokens = what.input_tokens;
  whole.output_tokens = what.output_tokens;
  whole.segments = std::move(what.segments);
  whole.answer = what.answer;
  whole.salt = what.salt;
  context_.composing.compose(whole, {}, context_.time.now(), what, changing);
  what.segments = std::move(whole.segments);
}

void retriever::pass_on(retrieved& ready) {
  request(router_of(ready.what.session), caf::infinite, std::move(ready.what))
      .then(
          [reply = ready.reply, found = ready.found](answer& result) mutable {
            result.retrieval = found;
            reply.deliver(std::move(result));
          },
          [reply = ready.reply](caf::error& failure) mutable {
            reply.deliver(std::move(failure));
          });
}

// A session keeps its router, as when a front end balances by connection; where rows have no
// sessions each has its own.
const caf::actor& retriever::router_of(session_id session) const {
  return context_.routers[mix64(session) % context_.routers.size()];
}

}  // namespace refrain
