// Continuous batching with chunked prefill in one executor, without time: which requests run, what
// each iteration computes, and what an ended iteration changes. An iteration serves running
// requests first, in arrival order (one decode token or the next chunk each), then waiting ones
// first come first served until budget, sequences or blocks run out; blocks are allocated for this
// iteration's tokens only. When the pool is full the newest request is preempted and goes to the
// head of the queue, and nobody is admitted in that iteration.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "actors/kv_manager.hpp"
#include "actors/live_request.hpp"
#include "gpu/engine.hpp"
#include "policies/batching.hpp"

namespace refrain {

/// The requests of one executor and their batch.
class batcher {
 public:
  batcher(kv_manager& kv, batching& limits, std::uint32_t look_ahead_window);

  /// Adds an arrived request that can_ever_hold() at the end of the queue.
  void enqueue(std::unique_ptr<live_request> request);
  /// Chooses what the next iteration computes of the running requests, at virtual time `now`.
  void begin(sim_time now);
  /// The waiting request that comes next and may enter this iteration, or nullptr.
  live_request* candidate() const;
  /// Puts the candidate into the batch; false when there is no room for it, and then for nobody
  /// behind it.
  bool admit();
  /// Makes `enter` (which takes blocks for the candidate up to `upto` tokens, or says false) come
  /// true: requests behind it that wait with blocks taken for a load give them up, the newest
  /// first, if that makes enough room, and else nobody does.
  template <class Enter>
  bool enter_before_loads(const kv_match& found, token_count upto, Enter&& enter) {
    if (enter()) {
      return true;
    }
    bool enough = loads_behind_tie_up(found, upto);
    while (enough && give_up_load_behind(passed_ + 1)) {
      if (enter()) {
        return true;
      }
    }
    return false;
  }
  /// Whether the newest arrival is the only waiting request that has no blocks yet.
  bool newest_is_next() const;
  /// Passes over the candidate: it waits for a load.
  void pass_over() { ++passed_; }
  /// Whether there is anything to compute.
  bool has_work() const { return !work_.prefill.empty() || work_.decodes > 0; }

  /// The waiting request of this id, or nullptr.
  live_request* find_waiting(request_id id);
  /// The request of this id, waiting or running, or nullptr.
  live_request* find(request_id id);
  /// Calls `use(load)` for each load that the chosen batch uses and that has not ended.
  template <class Use>
  void for_each_open_end(Use&& use) const {
    for (const auto& r : running_) {
      if (r->load.under_way && !r->load.open && r->chunk > 0) {
        use(r->load);
      }
    }
  }
  /// The chosen batch as an engine wants it.
  const batch& work() const { return work_; }
  /// Adds to the chosen batch which tokens are computed, sequence by sequence.
  void name_tokens();
  /// What the sequences that emit go on with, in their order.
  void take_emitted(std::span<const token_id> tokens);
  /// How many iterations in a row would compute the same batch, one token further each, if nothing
  /// arrives: the window that may be advanced together, at least 1.
  std::int64_t window() const;
  /// Whether a new arrival could enter the batch before this window ends by itself.
  bool arrival_matters() const;
  /// `iterations` iterations have ended at `now`. Returns the requests that are done, in arrival
  /// order.
  std::vector<std::unique_ptr<live_request>> advance(std::int64_t iterations, sim_time now);

  /// A request that was handed over no longer needs its blocks here.
  void release_handed(request_id id);

  /// Gives up all requests: a run that ends early.
  std::vector<std::unique_ptr<live_request>> abandon();

  /// Requests whose first token is out since this was last read; the caller empties it.
  std::vector<request_id>& first_tokens() { return first_tokens_; }

  std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t preemptions() const { return preemptions_; }
  /// Conservation, for debug builds.
  void check() const;

 private:
  void serve_running();
  bool give_up_load_behind(std::size_t place);
  bool loads_behind_tie_up(const kv_match& found, token_count upto) const;
  void preempt_last();
  void schedule(live_request& r, token_count tokens);
  bool may_use_load(const live_request& r, token_count computed) const;
  void use_load(live_request& r);
  void first_admission(live_request& r, const kv_match& found);
  void count_tier_hits(live_request& r, token_count from, token_count to,
                       const reused_span* span) const;
  void resume(live_request& r, const kv_match& found);

  bool advance_one(live_request& r, std::int64_t iterations, sim_time now);
  static void count_prefill(live_request& r);
  static token_count first_work(const live_request& r, token_count from, token_count to);

  void queue_back(std::unique_ptr<live_request> request);
  void queue_front(std::unique_ptr<live_request> request);
  std::unique_ptr<live_request> take_waiting(std::size_t place);

  kv_manager& kv_;
  batching& limits_;
  std::size_t look_ahead_;
  std::deque<std::unique_ptr<live_request>> waiting_;
  std::vector<std::unique_ptr<live_request>> running_;
  absl::flat_hash_map<request_id, sequence> handed_;  // over here, and kept for another executor
  batch work_;
  sim_time now_{0};        // when this batch is formed
  std::int64_t left_ = 0;  // of the token budget, while a batch is formed
  bool preempted_ = false;
  std::size_t passed_ = 0;  // waiting requests passed over in this iteration
  std::int64_t preemptions_ = 0;
  std::vector<request_id> first_tokens_;
};

}  // namespace refrain
