#include "actors/session.hpp"

#include <algorithm>
#include <caf/all.hpp>

namespace refrain {

namespace {

/// The prompt of a request whose documents have yet to be found; the retriever composes it.
prompt to_be_filled(const request& row) {
  prompt what{row.id, row.session, row.input_tokens, row.output_tokens, {}, false, row.last_turn};
  what.segments = row.segments;
  what.answer = row.answer;
  what.salt = row.salt;
  return what;
}

}  // namespace

session::session(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config}, context_{*context} {}

caf::behavior session::make_behavior() {
  context_.monitor.protect(this, "session");
  return {
      [this](turn& next) {
        turns_.push_back(std::move(next));
        if (turns_.size() == 1) {
          await_next();
        }
      },
      [this](turn_due) { send_next(); },
  };
}

void session::await_next() {
  const refrain::request& next = turns_.front().what;
  sim_time due = next.arrival;
  if (next.turn > 0) {
    due = std::max(due, last_answer_ + next.delay);
  }
  delayed_send(this, std::max(due - context_.time.now(), sim_time{0}), turn_due{});
}

void session::send_next() {
  turn& next = turns_.front();
  sent_ = context_.time.now();
  ++context_.injected;
  prompt what = context_.plan.retrieval.search == nullptr
                    ? context_.composing.compose(next.what, std::move(next.seen), sent_)
                    : to_be_filled(next.what);
  request(context_.retriever, caf::infinite, std::move(what)).then([this](const answer& result) {
    receive(result);
  });
}

void session::receive(const answer& result) {
  const refrain::request& over = turns_.front().what;
  last_answer_ = context_.time.now();
  ++context_.over;
  request_over row{over.id,
                   over.session,
                   over.turn,
                   over.input_tokens + result.retrieval.tokens,
                   over.output_tokens,
                   sent_,
                   result};
  if (over.measured) {
    row.measured_ttft_ns = over.measured->ttft.count();
    row.measured_e2e_ns = over.measured->e2e.count();
  }
  row.planted = over.planted;
  send(context_.recorder, std::move(row));
  send(context_.population, turn_over{});
  bool last = over.last_turn;
  turns_.pop_front();
  if (!turns_.empty()) {
    await_next();
  } else if (last) {
    quit();
  }
}

}  // namespace refrain
