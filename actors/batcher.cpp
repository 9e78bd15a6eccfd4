#include "actors/batcher.hpp"

#include <algorithm>
#include <iterator>

#include "traces/error.hpp"

namespace refrain {

batcher::batcher(kv_manager& kv, batching& limits, std::uint32_t look_ahead_window)
    : kv_{kv}, limits_{limits}, look_ahead_{look_ahead_window} {}

void batcher::enqueue(std::unique_ptr<live_request> request) {
  queue_back(std::move(request));
}

// The look-ahead queue is the first `look_ahead_` waiting requests; the three functions below keep
// it.
void batcher::queue_back(std::unique_ptr<live_request> request) {
  waiting_.push_back(std::move(request));
  if (waiting_.size() <= look_ahead_) {
    kv_.want(waiting_.back()->kv);
  }
}

void batcher::queue_front(std::unique_ptr<live_request> request) {
  waiting_.push_front(std::move(request));
  if (look_ahead_ > 0) {
    kv_.want(waiting_.front()->kv);
    if (waiting_.size() > look_ahead_) {
      kv_.unwant(waiting_[look_ahead_]->kv);
    }
  }
}

std::unique_ptr<live_request> batcher::take_front() {
  std::unique_ptr<live_request> first = std::move(waiting_.front());
  waiting_.pop_front();
  if (look_ahead_ > 0) {
    kv_.unwant(first->kv);
    if (waiting_.size() >= look_ahead_) {
      kv_.want(waiting_[look_ahead_ - 1]->kv);
    }
  }
  return first;
}

bool batcher::form(sim_time now) {
  work_.prefill.clear();
  work_.decodes = 0;
  work_.decode_context = 0;
  work_.longest_decode_context = 0;
  left_ = limits_.token_budget();
  preempted_ = false;
  for (auto& r : running_) {
    r->chunk = token_count{0};
  }
  serve_running();
  if (!preempted_) {
    admit_waiting(now);
  }
  all_decode_ = work_.prefill.empty();
  return !running_.empty();
}

void batcher::serve_running() {
  for (std::size_t i = 0; i < running_.size() && left_ > 0; ++i) {
    live_request& r = *running_[i];
    token_count tokens{std::min<std::int64_t>(r.total() - r.computed, left_)};
    while (!kv_.grow(r.kv, r.computed + tokens)) {
      bool itself = i + 1 == running_.size();
      preempt_last();
      if (itself) {
        return;
      }
    }
    schedule(r, tokens);
  }
}

void batcher::preempt_last() {
  std::unique_ptr<live_request> last = std::move(running_.back());
  running_.pop_back();
  REFRAIN_ASSERT(last->chunk == 0);
  kv_.preempt(last->kv, last->computed);
  last->computed = token_count{0};
  ++last->result.preemptions;
  ++preemptions_;
  preempted_ = true;
  queue_front(std::move(last));
}

void batcher::admit_waiting(sim_time now) {
  while (!waiting_.empty() && left_ > 0 && running() < limits_.max_sequences() &&
         admit_first(now)) {
  }
}

bool batcher::admit_first(sim_time now) {
  live_request& r = *waiting_.front();
  kv_match found = kv_.match(r.kv, r.total());
  token_count tokens{std::min<std::int64_t>(r.total() - found.tokens, left_)};
  if (!kv_.admit(r.kv, found, found.tokens + tokens)) {
    return false;
  }
  r.computed = found.tokens;
  if (!r.admitted) {
    first_admission(r, found, now);
  } else {
    resume(r, found);
  }
  running_.push_back(take_front());
  schedule(*running_.back(), tokens);
  return true;
}

// Hits are fixed here and counted once: what a preempted request finds again is no hit.
void batcher::first_admission(live_request& r, const kv_match& found, sim_time now) {
  r.admitted = true;
  r.result.admitted = now;
  r.result.hit_blocks = found.blocks;
  r.result.hit_tokens = found.tokens;
  r.result.pending_tokens = found.pending_tokens;
  r.high_water = found.tokens;
}

// What others have computed since the preemption is found too: neither a hit nor computed here.
void batcher::resume(live_request& r, const kv_match& found) {
  std::int64_t prompt = std::min(found.tokens, r.kv.input_tokens);
  r.result.resumed_tokens += token_count{std::max<std::int64_t>(prompt - r.high_water, 0)};
  r.high_water = std::max(r.high_water, found.tokens);
}

void batcher::schedule(live_request& r, token_count tokens) {
  r.chunk = tokens;
  left_ -= tokens;
  if (tokens == 1 && r.computed + tokens == r.total()) {
    ++work_.decodes;
    std::int64_t context = r.computed + 1;
    work_.decode_context += context;
    work_.longest_decode_context = std::max(work_.longest_decode_context, context);
  } else {
    work_.prefill.push_back({tokens, r.computed});
  }
}

std::int64_t batcher::window() const {
  if (!all_decode_ || preempted_) {
    return 1;
  }
  std::int64_t most = INT64_MAX;
  for (const auto& r : running_) {
    if (r->chunk == 0 || r->emitted == 0) {
      return 1;
    }
    std::int64_t outputs = r->kv.output_tokens - r->emitted;
    std::int64_t room = kv_.room(r->kv) - r->computed;
    most = std::min({most, outputs, room});
  }
  return std::max<std::int64_t>(most, 1);
}

std::vector<std::unique_ptr<live_request>> batcher::advance(std::int64_t iterations, sim_time now) {
  std::vector<std::unique_ptr<live_request>> done;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    live_request& r = *running_[i];
    bool over = false;
    if (r.chunk > 0) {
      over = advance_one(r, iterations, now);
    }
    if (over) {
      kv_.finish(r.kv);
      done.push_back(std::move(running_[i]));
    } else if (kept++ != i) {
      running_[kept - 1] = std::move(running_[i]);
    }
  }
  running_.resize(kept);
  return done;
}

// True when the request is done.
bool batcher::advance_one(live_request& r, std::int64_t iterations, sim_time now) {
  bool emits = r.computed + r.chunk == r.total();
  count_prefill(r);
  r.computed += token_count{r.chunk + iterations - 1};
  r.high_water = std::max(r.high_water, r.computed);
  kv_.fill(r.kv, r.computed);
  if (!emits) {
    return false;
  }
  if (r.emitted == 0) {
    r.result.first_token = now;
    first_tokens_.push_back(r.kv.id);
  }
  r.emitted += iterations;
  return r.emitted >= r.kv.output_tokens;
}

// Prefill is what of the prompt is computed for the first time and whatever is computed again.
void batcher::count_prefill(live_request& r) {
  std::int64_t end = r.computed + r.chunk;
  std::int64_t again =
      std::max<std::int64_t>(std::min<std::int64_t>(end, r.high_water) - r.computed, 0);
  std::int64_t from = std::max<std::int64_t>(r.computed, r.high_water);
  std::int64_t fresh =
      std::max<std::int64_t>(std::min<std::int64_t>(end, r.kv.input_tokens) - from, 0);
  r.result.computed_tokens += token_count{again + fresh};
  r.result.preempted_tokens += token_count{again};
}

std::vector<std::unique_ptr<live_request>> batcher::abandon() {
  std::vector<std::unique_ptr<live_request>> all = std::move(running_);
  running_.clear();
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(all));
  waiting_.clear();
  return all;
}

void batcher::check() const {
  std::vector<const sequence*> held;
  for (const auto& r : running_) {
    held.push_back(&r->kv);
    REFRAIN_ASSERT(r->computed <= kv_.room(r->kv));
    REFRAIN_ASSERT(r->emitted <= std::max<std::int64_t>(r->kv.output_tokens, 1));
  }
  for (const auto& r : waiting_) {
    REFRAIN_ASSERT(r->kv.blocks.empty());
  }
  kv_.check(held);
}

}  // namespace refrain
