// An executor: one GPU or one tensor-parallel group. It owns its KV and its batch as plain objects
// and adds time: an iteration lasts as long as the engine says, and what arrives meanwhile waits
// for the next one. Iterations that cannot change the batch are advanced together, as a window: it
// ends where a request completes or a block is due, or, when a request arrives that could enter,
// with the iteration that is then under way. Windows and single steps give the same results to the
// nanosecond.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <caf/event_based_actor.hpp>
#include <memory>
#include <vector>

#include "actors/batcher.hpp"
#include "actors/context.hpp"
#include "actors/messages.hpp"
#include "actors/reporter.hpp"
#include "gpu/cost_model/cost_model.hpp"
#include "gpu/engine.hpp"

namespace refrain {

class executor final : public caf::event_based_actor {
 public:
  executor(caf::actor_config& config, contender_context* context, std::uint32_t index);
  void on_exit() override;

 protected:
  caf::behavior make_behavior() override;

 private:
  // What a waiting request could have: the leading run that GPU memory and tiers hold together.
  struct load_choice {
    kv_match found;                     // in GPU memory
    std::vector<std::uint8_t> tier_of;  // by block of the run: 1 + kind of tier, 0 for GPU memory
    std::vector<std::vector<std::uint32_t>> wanted;  // by tier: indices of the blocks to load
  };

  std::unique_ptr<live_request> make_live(prompt& what);
  void accept(prompt& what);
  void form();
  void continue_forming();
  bool is_new_to_tiers(const live_request& r) const;
  bool must_wait(live_request& r);
  void ask_tiers(live_request& r);
  void receive(offer_blocks& offer);
  void decide(live_request& r);
  void decide_chunks(live_request& r);
  void begin_chunk_load(live_request& r, const kv_match& all,
                        const std::vector<std::vector<std::uint32_t>>& places);
  sim_time compute_time(const kv_match& found, token_count total);
  load_choice choose_blocks(const live_request& r, const std::vector<offer_blocks>& offers) const;
  void send_loads(live_request& r, std::vector<std::vector<std::uint32_t>>& wanted);
  std::size_t split_at(const live_request& r, const load_choice& choice,
                       const std::vector<offer_blocks>& offers);
  sim_time load_time(const load_choice& choice, const std::vector<offer_blocks>& offers,
                     std::size_t from) const;
  sim_time compute_time(token_count from, token_count to);
  void begin_load(live_request& r, load_choice& choice, std::size_t from);
  void cut_load(live_request& r);
  void note_times(const load_started& started);
  void progress_load(const load_progress& what);
  void consider_new_batch();
  sim_time end_with_loads(sim_time computed) const;
  bool only_prefills() const;
  void accept_handed(handed_prompt& handed);
  bool begin_handoff(live_request& r);
  bool make_room_for_handoff(live_request& r);
  void send_kv(const pull_kv& asked);
  void end_handoff(live_request& r);
  void let_go_of_handed(const kv_received& received);
  void tell_tiers();
  void invalidate(const invalidate_blocks& outdated);
  void plan_window();
  sim_time compute();
  void shorten_window();
  void schedule_window_end();
  void end_window();
  void settle();
  void publish();
  void remember(const kv_news& news);
  void sample_until_now();
  executor_sample sample(sim_time when) const;
  void drop_expired();
  void end_event();

  contender_context& context_;
  std::uint32_t index_;
  eviction_needs needs_;
  std::unique_ptr<eviction> eviction_;
  admission_needs gate_needs_;
  std::unique_ptr<admission> gate_;  // null: everything may enter
  std::unique_ptr<reuse> reuse_;
  std::unique_ptr<batching> batching_;
  reporter reporter_;
  kv_manager kv_;
  batcher batcher_;
  cost_model expected_;  ///< what the executor goes by when it decides
  std::unique_ptr<engine> engine_;
  transfer_link handoff_;  // towards decode executors

  std::vector<caf::actor> tiers_;  // of this executor's node, nearest first
  std::vector<sim_time> ends_;     // when each iteration of the window ends
  std::size_t planned_ = 0;        // iterations of it that will be run; 0 = idle
  std::uint64_t window_ = 0;
  bool settling_ = false;
  bool forming_ = false;  // a batch is being formed and waits for the tiers' answers
  std::uint64_t formed_ = 0;

  // Offers to one waiting request, by tier, until all tiers have answered.
  struct open_question {
    std::vector<offer_blocks> offers;
    std::size_t missing;
  };
  absl::flat_hash_map<request_id, open_question> questions_;
  sim_time next_sample_;
  std::optional<sim_time> expiry_due_;  // when the next blocks_expired is due

  std::int64_t arrived_ = 0;
  std::int64_t answered_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t invalidated_ = 0;
};

}  // namespace refrain
