// Continuous batching with chunked prefill in one executor, without time: which requests run, what
// each iteration computes, and what an ended iteration changes. An iteration serves running
// requests first, in arrival order (one decode token or the next chunk each), then waiting ones
// first come first served until budget, sequences or blocks run out; blocks are allocated for this
// iteration's tokens only. When the pool is full the newest request is preempted and goes to the
// head of the queue, and nobody is admitted in that iteration.
#pragma once

#include <caf/response_promise.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "actors/kv_manager.hpp"
#include "actors/messages.hpp"
#include "gpu/engine.hpp"
#include "policies/batching.hpp"

namespace refrain {

/// A load from lower tiers. While it lasts the request waits outside of the batch with its blocks
/// taken.
struct kv_load {
  std::uint64_t attempt = 0;   ///< the load that counts; the end of an older one is ignored
  std::int64_t transfers = 0;  ///< under way
  token_count to;              ///< tokens that have KV when it is done
  std::vector<std::uint8_t>
      tier_of;  ///< by block: 1 + the kind of tier it is loaded from, 0 for none
  std::vector<std::uint8_t> declined;  ///< as tier_of, where computing was expected to be faster
  /// Blocks found in GPU memory when the tiers were asked; -1 = not yet.
  std::int64_t asked_blocks = -1;
};

/// A request in an executor, from its arrival to its answer.
struct live_request {
  sequence kv;
  caf::response_promise reply;
  answer result;
  token_count computed;      ///< tokens with KV
  token_count chunk;         ///< tokens that this iteration computes; 0 when it is not served
  std::int64_t emitted = 0;  ///< output tokens
  token_count high_water;    ///< most tokens that ever had KV
  bool admitted = false;     ///< entered the batch at least once
  kv_load load;
  std::vector<lost_cause> causes;  ///< by prompt block: why it is computed

  /// Tokens to compute before the next output token.
  token_count total() const { return token_count{kv.input_tokens + emitted}; }
};

/// The requests of one executor and their batch.
class batcher {
 public:
  batcher(kv_manager& kv, batching& limits, std::uint32_t look_ahead_window);

  /// Adds an arrived request that can_ever_hold() at the end of the queue.
  void enqueue(std::unique_ptr<live_request> request);
  /// Chooses what the next iteration computes of the running requests, at virtual time `now`.
  void begin();
  /// The waiting request that comes next and may enter this iteration, or nullptr.
  live_request* candidate() const;
  /// Puts the candidate into the batch; false when there is no room for it, and then for nobody
  /// behind it.
  bool admit(sim_time now);
  /// Passes over the candidate: its load is under way.
  void pass_over() { ++passed_; }
  /// Whether there is anything to compute.
  bool has_work() const { return !work_.prefill.empty() || work_.decodes > 0; }

  /// The waiting request of this id, or nullptr.
  live_request* find_waiting(request_id id);
  /// The chosen batch as an engine wants it.
  const batch& work() const { return work_; }
  /// How many iterations in a row would compute the same batch, one token further each, if nothing
  /// arrives: the window that may be advanced together, at least 1.
  std::int64_t window() const;
  /// Whether a new arrival could enter the batch before this window ends by itself.
  bool arrival_matters() const;
  /// `iterations` iterations have ended at `now`. Returns the requests that are done, in arrival
  /// order.
  std::vector<std::unique_ptr<live_request>> advance(std::int64_t iterations, sim_time now);

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
  void preempt_last();
  void schedule(live_request& r, token_count tokens);
  void first_admission(live_request& r, const kv_match& found, sim_time now);
  void count_tier_hits(live_request& r, const kv_match& found) const;
  void resume(live_request& r, const kv_match& found);

  bool advance_one(live_request& r, std::int64_t iterations, sim_time now);
  static void count_prefill(live_request& r);

  void queue_back(std::unique_ptr<live_request> request);
  void queue_front(std::unique_ptr<live_request> request);
  std::unique_ptr<live_request> take_waiting(std::size_t place);

  kv_manager& kv_;
  batching& limits_;
  std::size_t look_ahead_;
  std::deque<std::unique_ptr<live_request>> waiting_;
  std::vector<std::unique_ptr<live_request>> running_;
  batch work_;
  std::int64_t left_ = 0;  // of the token budget, while a batch is formed
  bool preempted_ = false;
  std::size_t passed_ = 0;  // waiting requests passed over in this iteration
  std::int64_t preemptions_ = 0;
  std::vector<request_id> first_tokens_;
};

}  // namespace refrain
