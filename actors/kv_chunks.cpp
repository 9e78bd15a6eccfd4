// Chunks that are reused wherever they stand. A chunk has blocks of its own, shared like any other
// by the requests that take it: keys are kept unrotated and rotated as they are read, and what a
// request computes again of it lies beside the blocks and is not counted. A block knows behind what
// text it was computed; only there it is exact. Behind a chunk that is not, nothing is exact: what
// is computed there is found again as a chunk, or not at all.
#include <algorithm>

#include "actors/kv_manager.hpp"
#include "traces/error.hpp"

namespace refrain {

// Whether a resident block is used as it is. Where chunks are reused, it is only where the plan
// says so: what the request itself computes of a chunk is computed behind other text, and its own.
bool kv_manager::is_taken(const sequence& s, std::size_t index) const {
  if (!s.layout || index < s.leading) {
    return true;
  }
  return std::ranges::any_of(s.spans, [index](const reused_span& span) {
    return index >= span.first_block && index < span.end_block;
  });
}

bool kv_manager::is_exact_here(const sequence& s, std::size_t index) const {
  slot_id slot = visible_slot(s, index);
  const chunk_place* chunk = slot == no_slot ? nullptr : s.layout->chunk_at(index);
  return slot != no_slot &&
         (chunk == nullptr || (chunk->looked_up && context_[slot] == chunk->context));
}

kv_match kv_manager::match_chunks(const sequence& s, token_count total,
                                  std::span<const std::uint8_t> below) const {
  auto is_below = [&](std::size_t i) {
    return i < std::min(below.size(), s.keys.size()) && below[i] != 0;
  };
  kv_match found;
  std::size_t index = 0;
  // A tier does not know behind what text it was computed, so a chunk from there is not exact, nor
  // is one behind blocks that first have to come.
  bool comes = false;
  while (full_end_of(s, index) <= s.input_tokens) {
    bool here = is_exact_here(s, index) && !(comes && is_chunk(s, index));
    comes = comes || !here;
    if (!here && (is_chunk(s, index) || !is_below(index))) {
      break;
    }
    found.tokens = full_end_of(s, index++);
  }
  std::int64_t leading = static_cast<std::int64_t>(index);
  found.blocks = sharing_.plan({s.input_tokens, leading, found.tokens});
  REFRAIN_ASSERT(found.blocks >= 0 && found.blocks <= leading);
  if (found.blocks < leading) {
    found.tokens = found.blocks == 0 ? token_count{}
                                     : full_end_of(s, static_cast<std::size_t>(found.blocks - 1));
  }
  found.tokens = std::min(found.tokens, token_count{total - 1});
  for (const chunk_place& place : s.layout->chunks) {
    if (place.end_block <= found.blocks || !place.looked_up) {
      continue;
    }
    std::optional<reused_span> span;
    if (place.first_block < found.blocks) {
      chunk_place rest = place;  // of a chunk in which the leading run ends
      rest.first_block = static_cast<std::uint32_t>(found.blocks);
      rest.begin = found.tokens;
      span = span_of(s, rest, nullptr, total, below);
    } else {
      span = best_span(s, place, total, below);
    }
    if (span) {
      found.spans.push_back(*span);
    }
  }
  reuse_total sum{s.input_tokens, found.tokens, {}, {}};
  for (const reused_span& span : found.spans) {
    (span.label == reuse_label::approximate ? sum.approximate : sum.blended) += span.saved();
  }
  if (!found.spans.empty() && !sharing_.is_worth(sum)) {
    found.spans.clear();
  }
  return found;
}

// A cache that takes an outdated document for the present one finds that first; other text stands
// in only where the chunk's own KV is not there.
std::optional<reused_span> kv_manager::best_span(const sequence& s, const chunk_place& place,
                                                 token_count total,
                                                 std::span<const std::uint8_t> below) const {
  std::optional<reused_span> best;
  for (const chunk_donor& donor : place.donors) {
    if (donor.goes_first && !best) {
      best = span_of(s, place, &donor, total, below);
    }
  }
  if (!best) {
    best = span_of(s, place, nullptr, total, below);
  }
  for (const chunk_donor& donor : place.donors) {
    if (!donor.goes_first && !best) {
      best = span_of(s, place, &donor, total, below);
    }
  }
  return best;
}

// What the policy makes of the leading blocks of a chunk, or of one that stands for it, that are
// there.
std::optional<reused_span> kv_manager::span_of(const sequence& s, const chunk_place& place,
                                               const chunk_donor* donor, token_count total,
                                               std::span<const std::uint8_t> below) const {
  reused_span span{.first_block = place.first_block, .begin = place.begin};
  std::size_t most = place.end_block - place.first_block;
  if (donor != nullptr) {
    span.label = donor->named && !donor->stale ? reuse_label::blended : reuse_label::approximate;
    span.stale = donor->stale;
    span.truth = donor->truth;
    span.donor_key = static_cast<std::int32_t>(donor->first_key);
    most = std::min<std::size_t>(most, donor->end_key - donor->first_key);
  }
  std::size_t end = place.first_block;
  while (end < place.first_block + most) {
    std::size_t place_below = s.place_in_query(span, end);
    bool is_below =
        (donor == nullptr || donor->named) && place_below < below.size() && below[place_below] != 0;
    if (!is_below && visible(key_in(s, span, end)) == no_slot) {
      break;
    }
    ++end;
  }
  token_count last{std::min<std::int64_t>(place.end, total - 1)};
  if (end > place.first_block) {
    last = std::min(last, full_end_of(s, end - 1));
  }
  if (end == place.first_block || last <= place.begin) {
    return std::nullopt;
  }
  auto choice = sharing_.blend({.input_tokens = s.input_tokens,
                                .tokens = place.end - place.begin,
                                .resident = last - place.begin,
                                .label = span.label});
  if (!choice) {
    return std::nullopt;
  }
  REFRAIN_ASSERT(choice->taken > 0 && choice->taken <= last - place.begin &&
                 choice->recomputed >= 0 && choice->recomputed <= choice->taken);
  span.end = place.begin + choice->taken;
  span.recomputed = choice->recomputed;
  span.placement = choice->placement;
  span.end_block = static_cast<std::uint32_t>(s.layout->blocks_for(span.end));
  return span;
}

// What is computed of a chunk behind KV of other text is of no use to others.
bool kv_manager::is_behind_donor(const sequence& s, std::size_t index) {
  return std::ranges::any_of(s.spans, [&](const reused_span& span) {
    return span.donor_key >= 0 && index >= span.end_block &&
           s.layout->chunk_at(index) == s.layout->chunk_at(span.first_block);
  });
}

// On resumption: what the request has itself, up to the first chunk that it had taken, and of those
// chunks the ones that are still there. Hits are fixed, so no others.
kv_match kv_manager::match_planned(const sequence& s, token_count total) const {
  kv_match found;
  std::int64_t known = std::max<std::int64_t>(s.left_tokens, s.input_tokens);
  std::size_t first = s.planned->empty() ? SIZE_MAX : s.planned->front().first_block;
  std::size_t index = 0;
  while (index < first && full_end_of(s, index) <= known &&
         (is_left(s, index) || is_exact_here(s, index))) {
    found.tokens = full_end_of(s, index++);
  }
  found.blocks = static_cast<std::int64_t>(index);
  found.tokens = std::min(found.tokens, token_count{total - 1});
  for (const reused_span& span : *s.planned) {
    bool all = true;
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      all = all && visible(key_in(s, span, i)) != no_slot;
    }
    if (all) {
      found.spans.push_back(span);
    }
  }
  return found;
}

// All that was found is taken before anything is allocated, so it cannot be given away for it.
void kv_manager::hold_spans(const sequence& s) {
  for (const reused_span& span : s.spans) {
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      if (slot_id slot = visible(key_in(s, span, i)); slot != no_slot) {
        hold(slot);
      }
    }
  }
}

void kv_manager::let_go_of_spans(const sequence& s) {
  for (const reused_span& span : s.spans) {
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      if (s.blocks[i].found) {
        release(s.blocks[i].slot);
      }
    }
  }
}

void kv_manager::hold(slot_id slot) {
  cache_.pin(slot);
  if (cache_.pins_of(slot) == 1) {
    ++used_;
    if (block_of_[slot] == no_block) {
      block_of_[slot] = take();
    }
  }
}

void kv_manager::expect(const sequence& s, std::span<const std::uint32_t> blocks) {
  for (std::uint32_t i : blocks) {
    const held_block& held = s.blocks[i];
    if (held.slot != no_slot && !held.found) {
      content_[held.slot] = content::loading;
      context_[held.slot] = 0;
    }
  }
}

void kv_manager::fill_loaded(sequence& s, token_count leading) {
  s.filled = s.found = static_cast<std::size_t>(s.layout->blocks_for(leading));
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    slot_id slot = s.blocks[i].slot;
    if (slot != no_slot && content_[slot] == content::loading) {
      content_[slot] = content::filled;
      if (settings_.tell_filled && !outdated_[slot]) {
        news_.filled.push_back(chained(s, i));
      }
    }
  }
}

}  // namespace refrain
