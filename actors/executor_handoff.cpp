// Prefill and decode on executors of their own: one computes a prompt and its first token, another
// takes the KV over a link and goes on. The prefill executor keeps the blocks until they have come.
#include <algorithm>
#include <caf/all.hpp>

#include "actors/executor.hpp"

namespace refrain {

bool executor::only_prefills() const {
  return static_cast<std::int64_t>(index_) < context_.plan.disaggregation.prefill_executors;
}

// What the request needs beyond what is found here is pulled as soon as there is room for it.
void executor::accept_handed(handed_prompt& handed) {
  ++arrived_;
  std::unique_ptr<live_request> r = make_live(handed.what);
  r->result = std::move(handed.so_far);
  r->handed_from = r->result.executor;
  r->result.decode_executor = index_;
  r->admitted = true;
  r->emitted = 1;
  r->high_water = r->kv.input_tokens;
  live_request& queued = *r;
  batcher_.enqueue(std::move(r));
  if (batcher_.newest_is_next()) {
    begin_handoff(queued);
    publish();
  }
  consider_new_batch();
}

// Whether there was room for it.
bool executor::begin_handoff(live_request& r) {
  kv_match found = kv_.match(r.kv, r.total());
  if (kv_.is_coming(r.kv, found) ||
      !kv_.admit(r.kv, found, r.kv.input_tokens, context_.time.now())) {
    return false;
  }
  load_choice choice{found, {}, {}};
  choice.wanted.resize(1);
  choice.tier_of.assign(r.kv.blocks.size(), 0);
  for (auto i = static_cast<std::size_t>(found.blocks); i < r.kv.blocks.size(); ++i) {
    if (!r.kv.blocks[i].found) {
      choice.wanted[0].push_back(static_cast<std::uint32_t>(i));
    }
  }
  auto blocks = static_cast<std::int64_t>(choice.wanted[0].size());
  r.result.loaded_bytes += byte_count{blocks * context_.plan.block_bytes()};
  begin_load(r, choice, static_cast<std::size_t>(found.blocks));
  r.load.to = r.kv.input_tokens;
  r.load.unheard = 1;
  send(context_.executors[*r.handed_from], pull_kv{r.kv.id, r.load.attempt, index_, blocks});
  return true;
}

bool executor::make_room_for_handoff(live_request& r) {
  return batcher_.enter_before_loads(kv_.match(r.kv, r.total()), r.kv.input_tokens,
                                     [&] { return begin_handoff(r); });
}

// The prefill executor's side.
void executor::send_kv(const pull_kv& asked) {
  byte_count bytes{asked.blocks * context_.plan.block_bytes()};
  transfer_times times = handoff_.start(context_.time.now(), bytes);
  send(context_.executors[asked.executor], load_started{asked.id, asked.attempt, 0, times});
}

void executor::end_handoff(live_request& r) {
  send(context_.executors[*r.handed_from], kv_received{r.kv.id});
  r.handed_from.reset();
}

void executor::let_go_of_handed(const kv_received& received) {
  batcher_.release_handed(received.id);
  publish();
  consider_new_batch();
}

}  // namespace refrain
