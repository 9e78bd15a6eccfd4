#include "actors/executor.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/attribution.hpp"
#include "gpu/cpu/cpu_engine.hpp"

namespace refrain {

namespace {

// A longer window would be planned in vain when an arrival cuts it short; results do not depend on
// this.
constexpr std::int64_t window_max = 1024;

eviction_needs needs_of(const contender_plan& plan) {
  return registry<eviction_entry>::find(plan.eviction.name, "policies.eviction")
      .needs(plan.eviction.values);
}

std::unique_ptr<eviction> make_eviction(const contender_plan& plan, std::uint32_t index) {
  const auto& entry = registry<eviction_entry>::find(plan.eviction.name, "policies.eviction");
  return entry.make(plan.eviction.values,
                    {.slots = plan.slots,
                     .capacity = plan.blocks,
                     .random = {plan.seed, "eviction " + std::to_string(index)},
                     .ahead = plan.ahead.get()});
}

// Memory that is far away comes while the work on earlier keys is done.
template <class Block>
void for_each_ahead(const std::vector<Block>& keys, const auto& prefetch, const auto& use) {
  constexpr std::size_t ahead = 8;
  for (std::size_t i = 0; i < keys.size() + ahead; ++i) {
    if (i < keys.size()) {
      prefetch(keys[i]);
    }
    if (i >= ahead) {
      use(keys[i - ahead]);
    }
  }
}

std::unique_ptr<engine> make_engine(const contender_context& context, const cost_model& expected,
                                    std::uint32_t index) {
  const contender_plan& plan = context.plan;
  const execution_plan& execution = plan.execution;
  if (execution.recorded != nullptr) {
    return std::make_unique<recorded_engine>((*execution.recorded)[index]);
  }
  if (execution.weights != nullptr) {
    return std::make_unique<cpu_engine>(execution.weights, execution.precision, plan.blocks,
                                        plan.keys.block_tokens, plan.host_overhead,
                                        [&context] { return !context.control.stopped(); });
  }
  return std::make_unique<cost_model>(expected);
}

token_count leading_hits(const answer& result) {
  return result.hit_tokens - result.blended_tokens - result.approximate_tokens;
}

bool all_attributed(const answer& result) {
  token_count sum;
  for (token_count tokens : result.lost) {
    sum += tokens;
  }
  return sum == result.computed_tokens;
}

// The tiers are told what they want to know, and nothing is collected for nobody.
kv_settings settings_of(const contender_plan& plan, const eviction_needs& needs, bool all_news) {
  kv_settings settings{plan.blocks, plan.keys.block_tokens, plan.slots, needs};
  settings.recompute = plan.recompute;
  settings.tell_evicted = settings.tell_filled = all_news;
  for (std::size_t i = 0; i < plan.tiers.size(); ++i) {
    settings.tell_evicted =
        settings.tell_evicted || (i == 0 && plan.tiers[i].write == tier_write::demote);
    settings.tell_filled = settings.tell_filled || plan.tiers[i].write == tier_write::through;
    settings.tell_reused = settings.tell_reused || plan.tiers[i].write == tier_write::selective;
  }
  settings.chunks = plan.keys.chunk_kinds != 0;
  return settings;
}

}  // namespace

executor::executor(caf::actor_config& config, contender_context* context, std::uint32_t index)
    : caf::event_based_actor{config},
      context_{*context},
      index_{index},
      needs_{needs_of(context->plan)},
      eviction_{make_eviction(context->plan, index)},
      gate_{make_admission(context->plan.admission.name, context->plan.admission.values,
                           context->plan.blocks, gate_needs_)},
      reuse_{registry<reuse_entry>::find(context->plan.reuse.name, "policies.reuse")
                 .make(context->plan.reuse.values)},
      batching_{registry<batching_entry>::find(context->plan.batching.name, "policies.batching")
                    .make(context->plan.batching.values)},
      reporter_{*this, *context, index},
      kv_{settings_of(context->plan, needs_, reuse_->shares()),
          *eviction_,
          *reuse_,
          {gate_.get(), gate_needs_}},
      batcher_{kv_, *batching_, needs_.queue},
      expected_{context->plan.gpu, context->plan.model, context->plan.tensor_parallel,
                context->plan.host_overhead},
      engine_{make_engine(*context, expected_, index)},
      handoff_{context->plan.disaggregation.handoff},
      next_sample_{context->plan.sample_every} {
  std::size_t node = index / static_cast<std::size_t>(context->plan.executors_per_node);
  for (const std::vector<caf::actor>& instances : context->tiers) {
    tiers_.push_back(instances.size() > 1 ? instances[node] : instances.front());
  }
}

caf::behavior executor::make_behavior() {
  context_.monitor.protect(this, "executor " + std::to_string(index_));
  return {
      [this](prompt& what) {
        sample_until_now();
        accept(what);
        end_event();
      },
      [this](handed_prompt& handed) {
        sample_until_now();
        accept_handed(handed);
        end_event();
      },
      [this](const pull_kv& asked) { send_kv(asked); },
      [this](const kv_received& received) {
        sample_until_now();
        let_go_of_handed(received);
        end_event();
      },
      [this](window_end end) {
        if (end.window == window_) {
          sample_until_now();
          end_window();
          end_event();
        }
      },
      [this](form_batch) {
        settling_ = false;
        form();
        end_event();
      },
      [this](offer_blocks& offer) {
        receive(offer);
        end_event();
      },
      [this](const load_started& started) { note_times(started); },
      [this](const load_progress& what) {
        sample_until_now();
        progress_load(what);
        end_event();
      },
      [this](const invalidate_blocks& outdated) {
        sample_until_now();
        invalidate(outdated);
        end_event();
      },
      [this](poll_due) { reporter_.poll(); },
      [this](blocks_expired) {
        if (expiry_due_ == context_.time.now()) {
          sample_until_now();
          drop_expired();
          end_event();
        }
      },
      [this](close_books) {
        sample_until_now();
        send(context_.recorder, sample(context_.time.now()));
      },
  };
}

// A run that ends early: whoever waits for an answer is told, so that nobody is left waiting.
void executor::on_exit() {
  for (auto& r : batcher_.abandon()) {
    r->reply.deliver(caf::make_error(caf::sec::request_receiver_down));
  }
}

std::unique_ptr<live_request> executor::make_live(prompt& what) {
  auto r = std::make_unique<live_request>();
  r->kv.id = what.id;
  r->kv.session = what.session;
  r->kv.input_tokens = what.input_tokens;
  r->kv.output_tokens = what.output_tokens;
  r->kv.keys = std::move(what.keys);
  r->kv.short_last_block = what.short_last_block;
  r->kv.layout = std::move(what.layout);
  r->kv.notes = std::move(what.notes);
  r->seen = std::move(what.seen);
  r->tokens = std::move(what.tokens);
  r->reply = make_response_promise();
  return r;
}

void executor::accept(prompt& what) {
  ++arrived_;
  std::unique_ptr<live_request> r = make_live(what);
  r->result.executor = r->result.decode_executor = index_;
  r->result.arrived = context_.time.now();
  if (!kv_.can_ever_hold(r->kv)) {
    r->result.refused = refusal::larger_than_pool;
    r->result.finished = context_.time.now();
    ++answered_;
    r->reply.deliver(r->result);
    return;
  }
  if (only_prefills() && r->kv.output_tokens > 1) {
    r->hands_over = true;
    r->kv.output_tokens = token_count{1};
  }
  bool could_enter = batcher_.arrival_matters();
  live_request& queued = *r;
  batcher_.enqueue(std::move(r));
  if (is_new_to_tiers(queued)) {
    ask_tiers(queued);
  }
  if (planned_ == 0 || could_enter) {
    consider_new_batch();
  }
}

// Something may enter with the first batch that is formed now or later.
void executor::consider_new_batch() {
  if (planned_ == 0) {
    settle();
  } else {
    shorten_window();
  }
}

// A batch is formed after everything else that happens at this instant.
void executor::settle() {
  if (!settling_ && !forming_) {
    settling_ = true;
    context_.time.send_settled(caf::actor_cast<caf::actor>(this), form_batch{});
  }
}

void executor::form() {
  forming_ = true;
  ++formed_;
  batcher_.begin(context_.time.now());
  continue_forming();
}

// Admits waiting requests until one must first hear from the tiers; their answers come at this same
// instant.
void executor::continue_forming() {
  while (live_request* next = batcher_.candidate()) {
    if (questions_.contains(next->kv.id)) {
      return;
    }
    if (must_wait(*next)) {
      batcher_.pass_over();
      continue;
    }
    if (next->handed_from && next->kv.blocks.empty()) {
      if (!make_room_for_handoff(*next)) {
        break;
      }
      batcher_.pass_over();
      continue;
    }
    if (next->load.wants_room && next->load.asked_in == formed_) {
      if (batcher_.running() > 0) {
        break;  // when one of them is done there may be room
      }
      next->load.wants_room = false;
    } else if (is_new_to_tiers(*next)) {
      ask_tiers(*next);
      return;
    }
    bool first = !next->admitted;
    if (!batcher_.admit()) {
      break;
    }
    if (first) {
      publish();  // what was evicted for this request is lost to it
      attribute_losses(*next, kv_, context_.history);
    }
  }
  forming_ = false;
  publish();
  if (batcher_.has_work()) {
    plan_window();
  }
}

void executor::plan_window() {
  const batch& work = batcher_.work();
  // A block whose time is over in a window would leave before it ends.
  bool ahead = context_.plan.fast_forward && engine_->has_lines() && !needs_.expiry;
  std::int64_t length = ahead ? std::min(batcher_.window(), window_max) : 1;
  sim_time end = context_.time.now();
  ends_.clear();
  if (length == 1) {
    ends_.push_back(end_with_loads(end + compute()));
  } else {
    decode_line line = engine_->decode(work.decodes);
    std::int64_t context = work.decode_context;
    for (std::int64_t i = 0; i < length; ++i, context += work.decodes) {
      end += line.at(context);
      ends_.push_back(end);
    }
  }
  planned_ = ends_.size();
  schedule_window_end();
}

// The time of the batch. One that is computed happens here and now; it ends when its time is over.
sim_time executor::compute() {
  if (engine_->computes_tokens()) {
    batcher_.name_tokens();
  }
  sim_time took = engine_->iteration(batcher_.work());
  if (engine_->computes_tokens()) {
    batcher_.take_emitted(engine_->emitted());
  }
  if (!engine_->has_lines()) {
    send(context_.recorder,
         iteration_timed{index_, context_.time.now(), timed(batcher_.work(), took),
                         expected_.iteration(batcher_.work())});
  }
  return took;
}

// An arrival may enter the batch with the first iteration that begins now or later.
void executor::shorten_window() {
  auto last = std::lower_bound(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(planned_),
                               context_.time.now());
  auto length = static_cast<std::size_t>(last - ends_.begin()) + 1;
  if (length < planned_) {
    planned_ = length;
    schedule_window_end();
  }
}

void executor::schedule_window_end() {
  ++window_;
  delayed_send(this, ends_[planned_ - 1] - context_.time.now(), window_end{window_});
}

void executor::end_window() {
  iterations_ += static_cast<std::int64_t>(planned_);
  auto finished = batcher_.advance(static_cast<std::int64_t>(planned_), context_.time.now());
  planned_ = 0;
  publish();
  for (auto& r : finished) {
    r->result.finished = context_.time.now();
    ++answered_;
    REFRAIN_ASSERT(!refrain_debug_checks || all_attributed(r->result));
    if (context_.sample.holds(r->kv.session)) {
      context_.sample.take({r->kv.id, r->kv.session, std::move(r->tokens), r->kv.input_tokens,
                            r->kv.output_tokens, leading_hits(r->result)});
    }
    r->reply.deliver(r->result);
  }
  settle();
}

// Before the answers of an event, so that whoever hears one and asks again finds what it left.
void executor::publish() {
  tell_tiers();
  remember(kv_.news());
  reporter_.tell_blocks(kv_.news());
  kv_.news().clear();
  reporter_.tell_first_tokens(batcher_.first_tokens());
  batcher_.first_tokens().clear();
}

void executor::remember(const kv_news& news) {
  block_history& history = context_.history;
  for_each_ahead(
      news.filled, [&](const chained_key& block) { history.prefetch(block.key); },
      [&](const chained_key& block) { history.held(block.key); });
  for (const auto* gone : {&news.evicted, &news.withdrawn}) {
    for_each_ahead(
        *gone, [&](block_key key) { history.prefetch(key); },
        [&](block_key key) { history.evicted_from_gpu(key); });
  }
}

// Rows of the time series are due at fixed instants; between two events nothing changes but the
// iterations of a window.
void executor::sample_until_now() {
  sim_time every = context_.plan.sample_every;
  sim_time now = context_.time.now();
  if (next_sample_ < now && planned_ == 0) {
    // Idle: the first row stands for all of the gap.
    send(context_.recorder, sample(next_sample_));
    next_sample_ += ((now - next_sample_ - sim_time{1}) / every + 1) * every;
  }
  for (; next_sample_ < now; next_sample_ += every) {
    send(context_.recorder, sample(next_sample_));
  }
}

executor_sample executor::sample(sim_time when) const {
  auto ended =
      std::upper_bound(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(planned_), when);
  executor_sample s;
  s.executor = index_;
  s.time = when;
  s.running = batcher_.running();
  s.waiting = batcher_.waiting();
  s.used_blocks = kv_.used_blocks();
  s.cached_blocks = kv_.cached_blocks();
  s.iterations = iterations_ + (ended - ends_.begin());
  s.preemptions = batcher_.preemptions();
  s.evictions = kv_.evictions();
  s.peak_blocks = kv_.peak_blocks();
  s.invalidated = invalidated_;
  return s;
}

void executor::drop_expired() {
  expiry_due_.reset();
  kv_.drop_expired(context_.time.now());
  publish();
}

void executor::end_event() {
  std::optional<sim_time> expiry = kv_.next_expiry();
  if (expiry && (!expiry_due_ || *expiry < *expiry_due_)) {
    expiry_due_ = std::max(*expiry, context_.time.now());
    delayed_send(this, *expiry_due_ - context_.time.now(), blocks_expired{});
  }
  if constexpr (refrain_debug_checks) {
    REFRAIN_ASSERT(arrived_ == answered_ + batcher_.running() + batcher_.waiting());
    batcher_.check();
  }
}

}  // namespace refrain
