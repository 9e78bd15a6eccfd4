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

/// Of a prompt whose chunks have chains of their own.
lost_cause cause_in_layout(const live_request& r, const kv_manager& kv,
                           const block_history& history, std::size_t index, lost_cause before) {
  const prompt_layout& layout = *r.kv.layout;
  const chunk_place* chunk = layout.chunk_at(index);
  token_count begin = index == 0 ? token_count{} : layout.end_of(index - 1);
  bool in_span = std::ranges::any_of(*r.kv.planned, [begin](const reused_span& span) {
    return begin >= span.begin && begin < span.end;
  });
  if (in_span) {
    return lost_cause::blended;
  }
  bool begins = chunk != nullptr && index == chunk->first_block;
  before = begins ? lost_cause::admission : before;
  // Behind a chunk that is not exact nothing is looked up, and nothing is kept.
  bool behind_blend = chunk == nullptr && index >= r.kv.exact && index < r.kv.keys.size();
  return behind_blend ? history.why_lost(r.kv.keys[index])
                      : cause_of(r, kv, history, index, before);
}

/// Calls use(from, to, mark) for each piece of [from, to) that lies in one segment; what behind
/// them has no name has no mark.
template <class Use>
void for_each_seen(const std::vector<seen_mark>& marks, token_count from, token_count to,
                   Use&& use) {
  for (const seen_mark& mark : marks) {
    if (from >= to) {
      return;
    }
    if (mark.end > from) {
      token_count end = std::min(mark.end, to);
      use(from, end, mark);
      from = end;
    }
  }
  if (from < to) {
    use(from, to, seen_mark{});
  }
}

token_count& seen_loss(seen_tokens& seen, lost_cause cause, bool in_prefix) {
  bool floor = cause == lost_cause::block_floor || cause == lost_cause::last_token;
  bool unknown = cause == lost_cause::never_seen || cause == lost_cause::block_floor;
  if (cause == lost_cause::blended) {
    return seen.lost_blended;
  }
  if (!in_prefix && unknown) {
    return seen.lost_order;
  }
  return floor || unknown ? seen.lost_floor : seen.lost_cache;
}

token_count block_begin(const live_request& r, const kv_manager& kv, std::size_t index) {
  return index == 0 ? token_count{} : kv.full_end_of(r.kv, index - 1);
}

/// Tokens of a place of the prompt that were no hits, of those behind the leading run.
token_count not_hit(const live_request& r, token_count from, token_count to) {
  static const reused_spans none;
  return work_between(r.kv.planned ? *r.kv.planned : none, from, to);
}

/// What became of the tokens that an endless cache would have found.
void count_seen(live_request& r, const kv_manager& kv, token_count leading) {
  seen_tokens& seen = r.result.seen;
  for_each_seen(r.seen, token_count{}, r.kv.input_tokens,
                [&](token_count from, token_count to, const seen_mark& mark) {
                  seen.anywhere += mark.anywhere ? to - from : token_count{};
                  seen.in_prefix += mark.in_prefix ? to - from : token_count{};
                });
  for (std::size_t i = 0; i < r.causes.size(); ++i) {
    token_count end = std::min(kv.full_end_of(r.kv, i), r.kv.input_tokens);
    for_each_seen(r.seen, block_begin(r, kv, i), end,
                  [&](token_count from, token_count to, const seen_mark& mark) {
                    token_count hit = std::clamp(leading, from, to) - from;
                    token_count lost = not_hit(r, from + hit, to);
                    hit = to - from - lost;
                    if (mark.anywhere) {
                      seen_loss(seen, r.causes[i], mark.in_prefix) += lost;
                    } else {
                      seen.hits_unseen += hit;
                    }
                  });
  }
}

}  // namespace

void attribute_losses(live_request& r, const kv_manager& kv, const block_history& history) {
  std::int64_t leading_blocks = r.result.hit_blocks;
  token_count at = r.result.hit_tokens;
  for (const reused_span& span : r.kv.planned.value_or(reused_spans{})) {
    leading_blocks -= span.end_block - span.first_block;
    at -= span.saved();
  }
  token_count leading = at;
  r.causes.assign(static_cast<std::size_t>(kv.blocks_for(r.kv, r.kv.input_tokens)),
                  lost_cause::last_token);
  // What was found first and yet not taken, the reuse policy did not want.
  lost_cause cause = lost_cause::admission;
  for (auto i = static_cast<std::size_t>(leading_blocks); i < r.causes.size(); ++i) {
    if (r.kv.layout) {
      r.causes[i] = cause = cause_in_layout(r, kv, history, i, cause);
      continue;
    }
    // Behind a block that nobody ever had, nobody could have had the chain.
    bool hopeless = cause == lost_cause::never_seen && i < r.kv.keys.size();
    r.causes[i] = cause = hopeless ? cause : cause_of(r, kv, history, i, cause);
  }
  // A chunk that was found up to the prompt's last token.
  bool cut_short = r.kv.planned && !r.kv.planned->empty() &&
                   r.kv.planned->back().end == r.kv.input_tokens - 1 &&
                   r.kv.layout->chunks.back().end == r.kv.input_tokens;
  bool in_span = cut_short && r.causes.back() == lost_cause::blended;
  if (cut_short && !in_span) {
    r.causes.back() = lost_cause::last_token;
  }
  for (std::size_t i = 0; i < r.causes.size(); ++i) {
    token_count end = std::min(kv.full_end_of(r.kv, i), r.kv.input_tokens);
    if (end > at) {
      r.result.lost[static_cast<std::size_t>(r.causes[i])] += not_hit(r, at, end);
      at = end;
    }
  }
  if (!r.seen.empty()) {
    count_seen(r, kv, leading);
  }
  if (in_span) {
    r.result.lost[static_cast<std::size_t>(lost_cause::blended)] -= token_count{1};
    ++r.result.lost[static_cast<std::size_t>(lost_cause::last_token)];
    if (!r.seen.empty() && r.seen.back().anywhere) {
      r.result.seen.lost_blended -= token_count{1};
      ++r.result.seen.lost_floor;
    }
  }
}

void forgive_losses(live_request& r, const kv_manager& kv, token_count from, token_count to) {
  for (std::size_t i = 0; i < r.causes.size(); ++i) {
    token_count end = std::min(kv.full_end_of(r.kv, i), to);
    token_count begin = std::max(block_begin(r, kv, i), from);
    if (end > begin) {
      r.result.lost[static_cast<std::size_t>(r.causes[i])] -= not_hit(r, begin, end);
    }
  }
}

void credit_hits(live_request& r, const kv_manager& kv, token_count from, token_count to) {
  forgive_losses(r, kv, from, to);
  for (std::size_t i = 0; i < r.causes.size() && !r.seen.empty(); ++i) {
    token_count end = std::min(kv.full_end_of(r.kv, i), to);
    for_each_seen(r.seen, std::max(block_begin(r, kv, i), from), end,
                  [&](token_count a, token_count b, const seen_mark& mark) {
                    if (mark.anywhere) {
                      seen_loss(r.result.seen, r.causes[i], mark.in_prefix) -= b - a;
                    } else {
                      r.result.seen.hits_unseen += b - a;
                    }
                  });
  }
  if (to == r.kv.input_tokens - 1 && kv.end_of(r.kv, r.causes.size() - 1) == r.kv.input_tokens &&
      r.load.to >= r.kv.input_tokens) {
    r.result.lost[static_cast<std::size_t>(r.causes.back())] -= token_count{1};
    r.causes.back() = lost_cause::last_token;
    r.result.lost[static_cast<std::size_t>(r.causes.back())] += token_count{1};
  }
}

}  // namespace refrain
