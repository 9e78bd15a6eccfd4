// Finds the cause of every prompt token that was no hit, when a request has just entered the batch
// for the first time.
#pragma once

#include "actors/batcher.hpp"
#include "actors/kv_manager.hpp"
#include "actors/lost_tokens.hpp"

namespace refrain {

/// Fills r.causes (by prompt block) and r.result.lost. A block behind the first gap that is there
/// all the same is lost for the gap's reason.
void attribute_losses(live_request& r, const kv_manager& kv, const block_history& history);

/// Takes prompt tokens `from` to `to` out of their causes: they need not be computed after all.
void forgive_losses(live_request& r, const kv_manager& kv, token_count from, token_count to);

/// The same for tokens that are hits; where only the prompt's last token is left, that is its
/// cause.
void credit_hits(live_request& r, const kv_manager& kv, token_count from, token_count to);

}  // namespace refrain
