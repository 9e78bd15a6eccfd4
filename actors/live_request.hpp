// A request in an executor, from its arrival to its answer, and its load from lower tiers.
#pragma once

#include <caf/response_promise.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/kv_manager.hpp"
#include "actors/messages.hpp"

namespace refrain {

/// A load of blocks into those that the request has taken. Where the head is computed beside it (a
/// split) the request is in the batch meanwhile, else it waits outside.
struct kv_load {
  /// One link's part of it.
  struct transfer {
    std::vector<std::uint32_t> blocks;  ///< places in the chain, ascending
    transfer_times times{};
  };

  std::uint64_t attempt = 0;  ///< the load that counts; what is heard of an older one is ignored
  std::vector<transfer> transfers;     ///< by tier
  std::size_t unheard = 0;             ///< transfers whose times are not known yet
  bool under_way = false;              ///< has not ended
  bool open = false;                   ///< has not been used
  sim_time end{0};                     ///< of the last transfer
  sim_time usable = sim_time::max();   ///< from then on an iteration may use it
  token_count from;                    ///< tokens that have KV before it can be used
  token_count to;                      ///< tokens that have KV once it is used
  std::vector<std::uint8_t> tier_of;   ///< by block: 1 + the kind of tier it is loaded from, or 0
  std::vector<std::uint8_t> declined;  ///< as tier_of, where computing was expected to be faster
  /// Blocks found in GPU memory when the tiers were asked; -1 = not yet.
  std::int64_t asked_blocks = -1;
  bool wants_room = false;     ///< chunks are to be loaded, and there was no room for them
  std::uint64_t asked_in = 0;  ///< the forming of a batch in which the tiers were asked
  bool behind_other = false;   ///< waits for a load of another request that brings its next block

  /// Whether the request waits outside of the batch for it.
  bool keeps_out(token_count computed) const { return under_way && open && computed == from; }
};

/// A request in an executor.
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
  std::optional<std::uint32_t> handed_from;  ///< the executor that still has its KV
  bool hands_over = false;                   ///< another executor goes on after the first token
  std::vector<lost_cause> causes;            ///< by prompt block: why it is computed
  std::vector<seen_mark> seen;               ///< by segment, where that is counted
  std::vector<token_id> tokens;              ///< prompt and output so far, where they are computed

  /// Tokens to compute before the next output token.
  token_count total() const { return token_count{kv.input_tokens + emitted}; }
};

}  // namespace refrain
