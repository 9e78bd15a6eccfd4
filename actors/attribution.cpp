#include "actors/attribution.hpp"

#include <algorithm>

namespace refrain {

namespace {

lost_cause cause_of(const live_request& r, const kv_manager& kv, const block_history& history,
                    std::size_t index, lost_cause before) {
  switch (kv.state_of(r.kv, index)) {
    case block_state::unnamed:
      return r.kv.keys.empty() ? lost_cause::never_seen : lost_cause::block_floor;
    case block_state::unshared:
      return lost_cause::admission;
    case block_state::findable:
      return before;
    case block_state::pending:
      return lost_cause::not_visible;
    case block_state::absent:
      break;
  }
  bool offered = index < r.load.declined.size() && r.load.declined[index] > 0;
  return offered ? lost_cause::load_slower : history.why_lost(r.kv.keys[index]);
}

}  // namespace

void attribute_losses(live_request& r, const kv_manager& kv, const block_history& history) {
  r.causes.assign(static_cast<std::size_t>(kv.blocks_for(r.kv.input_tokens)),
                  lost_cause::last_token);
  std::int64_t at = r.result.hit_tokens;
  // What was found first and yet not taken, the reuse policy did not want.
  lost_cause cause = lost_cause::admission;
  for (auto i = static_cast<std::size_t>(r.result.hit_blocks); i < r.causes.size(); ++i) {
    // Behind a block that nobody ever had, nobody could have had the chain.
    bool hopeless = cause == lost_cause::never_seen && i < r.kv.keys.size();
    r.causes[i] = cause = hopeless ? cause : cause_of(r, kv, history, i, cause);
  }
  for (std::size_t i = 0; i < r.causes.size(); ++i) {
    std::int64_t end = std::min<std::int64_t>(kv.block_end(i), r.kv.input_tokens);
    if (end > at) {
      r.result.lost[static_cast<std::size_t>(r.causes[i])] += token_count{end - at};
      at = end;
    }
  }
}

void forgive_losses(live_request& r, const kv_manager& kv, token_count from, token_count to) {
  for (std::size_t i = 0; i < r.causes.size(); ++i) {
    std::int64_t end = std::min(kv.block_end(i), to);
    std::int64_t begin = std::max<std::int64_t>(i == 0 ? 0 : kv.block_end(i - 1).get(), from);
    if (end > begin) {
      r.result.lost[static_cast<std::size_t>(r.causes[i])] -= token_count{end - begin};
    }
  }
}

void credit_hits(live_request& r, const kv_manager& kv, token_count from, token_count to) {
  forgive_losses(r, kv, from, to);
  if (to == r.kv.input_tokens - 1 && kv.end_of(r.kv, r.causes.size() - 1) == r.kv.input_tokens &&
      r.load.to >= r.kv.input_tokens) {
    r.result.lost[static_cast<std::size_t>(r.causes.back())] -= token_count{1};
    r.causes.back() = lost_cause::last_token;
    r.result.lost[static_cast<std::size_t>(r.causes.back())] += token_count{1};
  }
}

}  // namespace refrain
