#include "actors/batcher.hpp"

#include <algorithm>
#include <iterator>

#include "actors/attribution.hpp"
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

std::unique_ptr<live_request> batcher::take_waiting(std::size_t place) {
  std::unique_ptr<live_request> taken = std::move(waiting_[place]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  if (place < look_ahead_) {
    kv_.unwant(taken->kv);
    if (waiting_.size() >= look_ahead_) {
      kv_.want(waiting_[look_ahead_ - 1]->kv);
    }
  }
  return taken;
}

live_request* batcher::find_waiting(request_id id) {
  auto found = std::find_if(waiting_.begin(), waiting_.end(),
                            [id](const auto& r) { return r->kv.id == id; });
  return found == waiting_.end() ? nullptr : found->get();
}

live_request* batcher::find(request_id id) {
  auto found = std::find_if(running_.begin(), running_.end(),
                            [id](const auto& r) { return r->kv.id == id; });
  return found == running_.end() ? find_waiting(id) : found->get();
}

void batcher::begin(sim_time now) {
  now_ = now;
  work_.prefill.clear();
  work_.decodes = 0;
  work_.decode_context = 0;
  work_.longest_decode_context = 0;
  left_ = limits_.token_budget();
  preempted_ = false;
  passed_ = 0;
  for (auto& r : running_) {
    r->chunk = token_count{0};
  }
  serve_running();
}

void batcher::serve_running() {
  for (std::size_t i = 0; i < running_.size() && left_ > 0; ++i) {
    live_request& r = *running_[i];
    if (may_use_load(r, r.computed)) {
      use_load(r);
    }
    std::int64_t goal = r.load.open ? r.load.from : r.total();
    token_count tokens = reach(r.kv.spans, r.computed, token_count{goal}, left_) - r.computed;
    if (tokens == 0) {
      continue;  // its load takes longer than what is computed beside it
    }
    while (!kv_.grow(r.kv, r.computed + tokens)) {
      if (give_up_load_behind(0)) {
        continue;
      }
      bool itself = i + 1 == running_.size();
      preempt_last();
      if (itself) {
        return;
      }
    }
    schedule(r, tokens);
  }
}

// Blocks taken for the load of a waiting request give way, the newest request's first: it is from
// `place` on that they may.
bool batcher::give_up_load_behind(std::size_t place) {
  for (std::size_t i = waiting_.size(); i-- > place;) {
    live_request& r = *waiting_[i];
    if (!r.kv.blocks.empty()) {
      kv_.finish(r.kv);
      r.load = {.attempt = r.load.attempt + 1};
      return true;
    }
  }
  return false;
}

// Whether what the candidate lacks is in the hands of loads behind it.
bool batcher::loads_behind_tie_up(const kv_match& found, token_count upto) const {
  std::vector<const sequence*> holders;
  for (std::size_t i = passed_ + 1; i < waiting_.size(); ++i) {
    if (!waiting_[i]->kv.blocks.empty()) {
      holders.push_back(&waiting_[i]->kv);
    }
  }
  return !holders.empty() && kv_.would_fit_without(holders, waiting_[passed_]->kv, found, upto);
}

void batcher::preempt_last() {
  std::unique_ptr<live_request> last = std::move(running_.back());
  running_.pop_back();
  REFRAIN_ASSERT(last->chunk == 0);
  kv_.preempt(last->kv, last->computed);
  last->computed = token_count{0};
  last->load = {.attempt = last->load.attempt + 1};
  ++last->result.preemptions;
  ++preemptions_;
  preempted_ = true;
  queue_front(std::move(last));
}

live_request* batcher::candidate() const {
  bool full = preempted_ || left_ == 0 || running() >= limits_.max_sequences();
  return full || passed_ == waiting_.size() ? nullptr : waiting_[passed_].get();
}

bool batcher::newest_is_next() const {
  return std::all_of(waiting_.begin(), waiting_.end() - 1,
                     [](const auto& r) { return !r->kv.blocks.empty(); });
}

bool batcher::admit() {
  live_request& r = *waiting_[passed_];
  bool holds = !r.kv.blocks.empty();
  kv_match found = holds ? kv_.held(r.kv, r.total()) : kv_.match(r.kv, r.total());
  bool uses_load = may_use_load(r, found.tokens);
  if (uses_load && !r.kv.layout) {
    found.blocks = static_cast<std::int64_t>(r.load.tier_of.size());
    found.tokens = std::min(r.load.to, token_count{r.total() - 1});
  }
  bool stops_at_load = r.load.open && !uses_load;
  std::int64_t goal = stops_at_load ? r.load.from : r.total();
  token_count tokens = reach(found.spans, found.tokens, token_count{goal}, left_) - found.tokens;
  REFRAIN_ASSERT(tokens > 0);
  token_count upto = found.tokens + tokens;
  auto enter = [&] { return holds ? kv_.grow(r.kv, upto) : kv_.admit(r.kv, found, upto, now_); };
  if (!enter_before_loads(holds ? kv_match{} : found, upto, enter)) {
    return false;
  }
  r.load.open = stops_at_load;
  r.computed = found.tokens;
  if (!r.admitted) {
    first_admission(r, found);
  } else {
    resume(r, found);
  }
  running_.push_back(take_waiting(passed_));
  schedule(*running_.back(), tokens);
  return true;
}

bool batcher::arrival_matters() const {
  return std::all_of(waiting_.begin(), waiting_.end(),
                     [](const auto& r) { return r->load.under_way || r->load.behind_other; });
}

bool batcher::may_use_load(const live_request& r, token_count computed) const {
  return r.load.open && computed >= r.load.from && now_ >= r.load.usable;
}

// A running request has computed its share and goes on behind what was loaded: hits that are
// counted only now, since a preemption before would have made them none.
void batcher::use_load(live_request& r) {
  r.load.open = false;
  if (!r.load.under_way) {
    kv_.fill(r.kv, r.load.to);
  }
  token_count from = r.computed;
  auto blocks = static_cast<std::int64_t>(r.load.tier_of.size());
  r.computed = std::min(r.load.to, token_count{r.total() - 1});
  if (r.result.preemptions > 0) {
    resume(r, {blocks, r.computed, {}});
    return;
  }
  r.high_water = std::max(r.high_water, r.computed);
  r.result.hit_tokens += token_count{r.computed - from};
  r.result.hit_blocks += blocks - kv_.blocks_for(r.kv, from);
  count_tier_hits(r, from, r.computed, nullptr);
  credit_hits(r, kv_, from, r.computed);
}

// Hits are fixed here and counted once: what a preempted request finds again is no hit.
void batcher::first_admission(live_request& r, const kv_match& found) {
  r.admitted = true;
  r.result.admitted = now_;
  r.result.hit_blocks = found.all_blocks();
  r.result.hit_tokens = found.tokens;
  r.result.pending_tokens = found.pending_tokens;
  r.high_water = found.tokens;
  count_tier_hits(r, token_count{0}, found.tokens, nullptr);
  if (!r.kv.layout) {
    return;
  }
  r.kv.planned = found.spans;
  for (const reused_span& span : found.spans) {
    bool other_text = span.label == reuse_label::approximate;
    r.result.hit_tokens += span.saved();
    (other_text ? r.result.approximate_tokens : r.result.blended_tokens) += span.saved();
    r.result.stale_tokens += span.stale ? span.saved() : token_count{};
    r.result.reuses[static_cast<std::size_t>(span.truth)] += other_text ? 1 : 0;
    count_tier_hits(r, span.begin, span.end, &span);
  }
}

void batcher::count_tier_hits(live_request& r, token_count from, token_count to,
                              const reused_span* span) const {
  token_count before = from;
  for (std::size_t i = 0; i < r.load.tier_of.size(); ++i) {
    token_count end = std::min(kv_.end_of(r.kv, i), to);
    if (end > before) {
      if (r.load.tier_of[i] > 0) {
        token_count again;
        if (span != nullptr) {
          again = span->recomputed_before(end) - span->recomputed_before(before);
        }
        r.result.tier_hit_tokens[r.load.tier_of[i] - 1u] += end - before - again;
      }
      before = end;
    }
  }
}

// What others have computed since the preemption is found too: neither a hit nor computed here.
void batcher::resume(live_request& r, const kv_match& found) {
  std::int64_t prompt = std::min(found.tokens, r.kv.input_tokens);
  if (prompt > r.high_water) {
    r.result.resumed_tokens += first_work(r, r.high_water, token_count{prompt});
    forgive_losses(r, kv_, r.high_water, token_count{prompt});
  }
  r.high_water = std::max(r.high_water, found.tokens);
}

void batcher::schedule(live_request& r, token_count tokens) {
  r.chunk = tokens;
  if (tokens == 1 && r.computed + tokens == r.total()) {
    ++work_.decodes;
    std::int64_t context = r.computed + 1;
    work_.decode_context += context;
    work_.longest_decode_context = std::max(work_.longest_decode_context, context);
    --left_;
  } else {
    work_.prefill.push_back(chunk_of(r.kv.spans, r.computed, r.computed + tokens));
    left_ -= work_.prefill.back().new_tokens;
  }
}

void batcher::name_tokens() {
  work_.sequences.clear();
  for (const auto& r : running_) {
    if (r->chunk == 0) {
      continue;
    }
    auto from = static_cast<std::size_t>(r->computed.get());
    auto count = static_cast<std::size_t>(r->chunk.get());
    sequence_work& mine = work_.sequences.emplace_back();
    mine.tokens = std::span<const token_id>{r->tokens}.subspan(from, count);
    mine.cached_tokens = r->computed;
    mine.emits = r->computed + r->chunk == r->total();
    for (const held_block& held : r->kv.blocks) {
      mine.blocks.push_back(held.block);
    }
  }
}

// An answer that a later prompt contains goes on as it stands there.
void batcher::take_emitted(std::span<const token_id> tokens) {
  std::size_t next = 0;
  for (const auto& r : running_) {
    if (r->chunk == 0 || r->computed + r->chunk != r->total()) {
      continue;
    }
    if (static_cast<std::int64_t>(r->tokens.size()) == r->total()) {
      r->tokens.push_back(tokens[next]);
    }
    ++next;
  }
  REFRAIN_ASSERT(next == tokens.size());
}

std::int64_t batcher::window() const {
  if (!work_.prefill.empty() || preempted_) {
    return 1;
  }
  std::int64_t most = INT64_MAX;
  for (const auto& r : running_) {
    bool load_ends_beside = r->load.under_way && !r->load.open;
    if (r->chunk == 0 || r->emitted == 0 || load_ends_beside) {
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
      if (r.hands_over) {
        handed_.emplace(r.kv.id, std::move(r.kv));
      } else {
        kv_.finish(r.kv);
      }
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

// Tokens of the prompt that were no hits.
token_count batcher::first_work(const live_request& r, token_count from, token_count to) {
  static const reused_spans none;
  return work_between(r.kv.planned ? *r.kv.planned : none, from, to);
}

// Prefill is what of the prompt is computed for the first time and whatever is computed again.
void batcher::count_prefill(live_request& r) {
  token_count end = r.computed + r.chunk;
  token_count from = std::max(r.computed, r.high_water);
  token_count prompt = std::min(end, r.kv.input_tokens);
  std::int64_t again = work_between(r.kv.spans, r.computed, std::min(end, r.high_water));
  std::int64_t fresh = work_between(r.kv.spans, from, prompt);
  if (r.kv.planned) {
    // What was a hit and is gone is computed again, too.
    token_count first = first_work(r, from, prompt);
    again += fresh - first;
    fresh = first;
  }
  r.result.computed_tokens += token_count{again + fresh};
  r.result.preempted_tokens += token_count{again};
  r.result.lost[static_cast<std::size_t>(lost_cause::preempted)] += token_count{again};
}

void batcher::release_handed(request_id id) {
  auto found = handed_.find(id);
  REFRAIN_ASSERT(found != handed_.end());
  kv_.finish(found->second);
  handed_.erase(found);
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
    held.push_back(&r->kv);
  }
  for (const auto& [id, kv] : handed_) {
    held.push_back(&kv);
  }
  kv_.check(held);
}

}  // namespace refrain
