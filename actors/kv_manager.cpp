#include "actors/kv_manager.hpp"

#include <algorithm>

#include "traces/error.hpp"

namespace refrain {

kv_manager::kv_manager(const kv_settings& settings, eviction& policy, reuse& sharing,
                       gate_keeper gate)
    : settings_{settings},
      sharing_{sharing},
      policy_{policy},
      gate_{gate},
      cache_{policy, settings.needs.unbounded ? -1 : settings.blocks, settings.slots},
      pool_{settings.blocks},
      block_of_(settings.slots, no_block),
      content_(settings.slots, content::computing),
      outdated_(settings.slots),
      context_(settings.chunks ? settings.slots : 0) {}

std::int64_t kv_manager::needed(const sequence& s, const kv_match& found, token_count upto) const {
  auto held = std::max(found.blocks, static_cast<std::int64_t>(s.blocks.size()));
  std::int64_t fresh = std::max<std::int64_t>(blocks_for(s, upto) - held, 0);
  for (std::int64_t i = 0; i < found.blocks; ++i) {
    slot_id slot = visible_slot(s, static_cast<std::size_t>(i));
    // An unused cached block is obtainable until it is taken; a block left by this request
    // likewise.
    fresh += slot == no_slot || cache_.pins_of(slot) == 0 ? 1 : 0;
  }
  for (const reused_span& span : found.spans) {
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      slot_id slot = visible(key_in(s, span, i));
      fresh -= slot != no_slot && cache_.pins_of(slot) > 0 ? 1 : 0;
    }
  }
  return fresh;
}

bool kv_manager::admit(sequence& s, const kv_match& found, token_count upto, sim_time now) {
  REFRAIN_ASSERT(s.blocks.empty());
  if (!found.spans.empty()) {
    upto = std::max(upto, found.spans.back().end);
  }
  auto hits = static_cast<std::size_t>(found.blocks);
  std::int64_t need = needed(s, found, upto);
  slot_id last = hits > 0 ? visible_slot(s, hits - 1) : no_slot;
  bool copy = last != no_slot && writes_found_block(s, hits, upto);
  if (!has_room(need, copy, copy ? cache_.pins_of(last) : 0)) {
    return false;
  }
  request_view begun{s.id, s.session, s.input_tokens, s.output_tokens, now};
  if (s.notes != nullptr) {
    begun.upcoming = s.notes->upcoming;
  }
  policy_.begin_request(begun);
  if (gate_.policy != nullptr && !s.storable) {
    s.storable = gate_.policy->leading(s.keys);
  }
  // All that was found is taken before anything is allocated, so it cannot be given away for it:
  // first what this request had left behind, since a found block that took no room needs a block of
  // the pool.
  s.blocks.resize(hits);
  for (std::size_t i = 0; i < hits; ++i) {
    if (visible_slot(s, i) == no_slot) {
      bool reclaimed = pool_.reclaim(s.left[i], s.id, static_cast<std::uint32_t>(i));
      REFRAIN_ASSERT(reclaimed);
      ++used_;
      s.blocks[i] = {s.left[i], no_slot, false};
    }
  }
  for (std::size_t i = 0; i < hits; ++i) {
    if (slot_id slot = visible_slot(s, i); slot != no_slot) {
      s.blocks[i] = use_found(s, i, slot);
    }
  }
  s.filled = s.found = hits;
  s.leading = static_cast<std::size_t>(found.blocks + found.to_come);
  s.spans = found.spans;
  s.exact = s.spans.empty() ? SIZE_MAX : s.spans.front().first_block;
  hold_spans(s);
  s.left.clear();
  s.left_tokens = token_count{0};
  if (copy) {
    copy_short_block(s, blocks_for(s, upto) - found.blocks);
  }
  extend(s, upto);
  let_go_of_spans(s);
  return true;
}

bool kv_manager::grow(sequence& s, token_count upto) {
  std::int64_t need = needed(s, {}, upto);
  bool copy =
      !s.blocks.empty() && s.blocks.back().found && writes_found_block(s, s.blocks.size(), upto);
  if (!has_room(need, copy, copy ? cache_.pins_of(s.blocks.back().slot) - 1 : 0)) {
    return false;
  }
  if (copy) {
    copy_short_block(s, need);
  }
  extend(s, upto);
  return true;
}

// A short last block that was found must not be written by the tokens that follow the prompt.
bool kv_manager::writes_found_block(const sequence& s, std::size_t held, token_count upto) const {
  return s.short_last_block && held == s.keys.size() && upto > s.input_tokens;
}

bool kv_manager::has_room(std::int64_t need, bool copy, std::uint32_t other_users) const {
  // A block that nobody else uses may be taken out of the cache instead of being copied.
  return need + (copy && other_users > 0 ? 1 : 0) <= obtainable();
}

void kv_manager::copy_short_block(sequence& s, std::int64_t need) {
  held_block& last = s.blocks.back();
  if (obtainable() > need) {
    block_id copy = take();
    ++used_;
    release(last.slot);
    last = {copy, no_slot, false};
    return;
  }
  withdraw(last);
}

void kv_manager::extend(sequence& s, token_count upto) {
  while (static_cast<std::int64_t>(s.blocks.size()) < blocks_for(s, upto)) {
    append(s);
  }
  note_peak();
}

void kv_manager::append(sequence& s) {
  std::size_t index = s.blocks.size();
  if (findable(s, index)) {
    slot_id slot = cache_.find(key_at(s, index));
    if (slot != no_slot && content_[slot] == content::filled && !outdated_[slot] &&
        is_taken(s, index)) {
      s.blocks.push_back(use_found(s, index, slot));
      return;
    }
    entry_view entry = view(s, index);
    if (slot == no_slot && may_enter(s, entry) && policy_.on_miss(entry)) {
      block_id block = take();
      slot = insert(entry, s, index);
      block_of_[slot] = block;
      s.blocks.push_back({block, slot, false});
      return;
    }
  }
  // Not findable, refused, or there with what another request is computing right now or has
  // computed behind other text.
  s.blocks.push_back({take(), no_slot, false});
  ++used_;
}

slot_id kv_manager::insert(const entry_view& entry, const sequence& s, std::size_t index) {
  slot_id slot = cache_.insert(entry);
  if (slot >= block_of_.size()) {
    block_of_.resize(slot + 1 + slot / 2, no_block);
    content_.resize(block_of_.size(), content::computing);
    outdated_.resize(block_of_.size());
    context_.resize(settings_.chunks ? block_of_.size() : 0);
  }
  content_[slot] = content::computing;
  outdated_[slot] = false;
  if (settings_.chunks) {
    const chunk_place* chunk = s.layout ? s.layout->chunk_at(index) : nullptr;
    context_[slot] = chunk != nullptr && index < s.exact ? chunk->context : 0;
  }
  cache_.pin(slot);
  ++used_;
  ++inserted_;
  return slot;
}

// What the admission policy says. At its limit a cached block gives way to the newcomer, and its
// memory is free again.
bool kv_manager::may_enter(const sequence& s, const entry_view& entry) {
  if (gate_.policy == nullptr) {
    return true;
  }
  if (gate_.needs.accesses) {
    gate_.policy->on_access(entry.key);
  }
  if (entry.depth >= s.storable.value_or(admission::all)) {
    return false;
  }
  bool full = pool_.available() == 0 && cache_.unpinned() > 0;
  slot_id last = gate_.needs.victim && full ? policy_.victim() : no_slot;
  block_key victim = last == no_slot ? block_key{} : cache_.key_of(last);
  return gate_.policy->admit(entry, last == no_slot ? nullptr : &victim) && make_way();
}

bool kv_manager::make_way() {
  std::int64_t limit = gate_.policy->limit(pool_.capacity());
  if (settings_.needs.unbounded || cache_.occupied() < limit) {
    return true;
  }
  if (limit == 0 || cache_.unpinned() == 0) {
    return false;
  }
  pool_.put_back(evict());
  return true;
}

// A resident block, a hit or (behind a gap) one that is computed again into the same place.
held_block kv_manager::use_found(const sequence& s, std::size_t index, slot_id slot) {
  if (gate_.needs.accesses) {
    gate_.policy->on_access(key_at(s, index));
  }
  policy_.on_hit(slot, view(s, index));
  if (settings_.tell_reused) {
    news_.reused.push_back(chained(s, index));
  }
  cache_.pin(slot);
  if (cache_.pins_of(slot) == 1) {
    ++used_;
    if (block_of_[slot] == no_block) {
      block_of_[slot] = take();
    }
  }
  return {block_of_[slot], slot, true};
}

void kv_manager::release(slot_id slot) {
  if (cache_.unpin(slot)) {
    --used_;
    if (settings_.needs.unbounded) {
      pool_.put_back(block_of_[slot]);
      block_of_[slot] = no_block;
    }
    if (outdated_[slot]) {
      remove_outdated(slot);
    }
  }
}

// Tail first, so that no block loses the one before it.
std::int64_t kv_manager::invalidate(std::span<const block_key> keys, bool unfinished_too) {
  std::int64_t count = 0;
  for (std::size_t i = keys.size(); i-- > 0;) {
    block_key key = keys[i];
    slot_id slot = cache_.find(key);
    bool spared = slot == no_slot || outdated_[slot] ||
                  (content_[slot] != content::filled && !unfinished_too);
    if (spared) {
      continue;
    }
    ++count;
    if (cache_.pins_of(slot) == 0) {
      remove_outdated(slot);
    } else {
      outdated_[slot] = true;
    }
    if (settings_.tell_filled && content_[slot] == content::filled) {
      news_.withdrawn.push_back(key);
    }
  }
  return count;
}

// Nobody uses it any more, so its memory is free.
void kv_manager::remove_outdated(slot_id slot) {
  cache_.remove(slot);
  if (block_of_[slot] != no_block) {
    pool_.put_back(block_of_[slot]);
    block_of_[slot] = no_block;
  }
}

block_id kv_manager::take() {
  if (pool_.available() > 0) {
    return pool_.take();
  }
  return evict();
}

void kv_manager::drop_expired(sim_time now) {
  policy_.on_time(now);
  while (cache_.unpinned() > 0 && policy_.has_expired()) {
    pool_.put_back(evict());
  }
}

block_id kv_manager::evict() {
  slot_id gone = cache_.evict();
  REFRAIN_ASSERT(gone != no_slot);
  ++evictions_;
  if (gate_.policy != nullptr) {
    gate_.policy->on_evict(cache_.key_of(gone));
  }
  if (settings_.tell_evicted) {
    news_.evicted.push_back(cache_.key_of(gone));
  }
  block_id block = block_of_[gone];
  block_of_[gone] = no_block;
  return block;
}

void kv_manager::expect_from(const sequence& s, std::size_t index) {
  for (std::size_t i = index; i < s.blocks.size(); ++i) {
    const held_block& held = s.blocks[i];
    if (held.slot != no_slot && !held.found) {
      content_[held.slot] = content::loading;
    }
  }
}

void kv_manager::expect_nothing(const sequence& s) {
  for (std::size_t i = s.filled; i < s.blocks.size(); ++i) {
    const held_block& held = s.blocks[i];
    if (held.slot != no_slot && content_[held.slot] == content::loading) {
      content_[held.slot] = content::computing;
    }
  }
}

void kv_manager::fill(sequence& s, token_count upto) {
  while (s.filled < s.blocks.size() && end_of(s, s.filled) <= upto) {
    if (slot_id slot = s.blocks[s.filled].slot;
        slot != no_slot && content_[slot] != content::filled) {
      content_[slot] = content::filled;
      if (settings_.tell_filled && !outdated_[slot]) {
        news_.filled.push_back(chained(s, s.filled));
      }
    }
    ++s.filled;
  }
}

void kv_manager::finish(sequence& s) {
  let_go(s, false);
}

void kv_manager::preempt(sequence& s, token_count computed) {
  s.left.assign(s.blocks.size(), no_block);
  s.left_tokens = computed;
  let_go(s, true);
}

void kv_manager::let_go(sequence& s, bool preempted) {
  if (settings_.needs.front) {
    for (std::size_t i = 0; i < s.blocks.size(); ++i) {
      let_go_of(s, i, preempted);
    }
  } else {
    for (std::size_t i = s.blocks.size(); i-- > 0;) {
      let_go_of(s, i, preempted);
    }
  }
  s.blocks.clear();
  s.filled = 0;
  s.exact = SIZE_MAX;
}

void kv_manager::let_go_of(sequence& s, std::size_t index, bool preempted) {
  held_block& held = s.blocks[index];
  if (held.slot != no_slot && content_[held.slot] != content::filled) {
    withdraw(held);  // nobody can have found what was never filled
  }
  if (held.slot != no_slot) {
    release(held.slot);
    return;
  }
  --used_;
  pool_.leave(held.block, s.id, static_cast<std::uint32_t>(index));
  if (preempted) {
    s.left[index] = held.block;
  }
}

// Takes a block that only this request uses out of the cache: it becomes private.
void kv_manager::withdraw(held_block& held) {
  bool last = cache_.unpin(held.slot);
  REFRAIN_ASSERT(last);
  if (settings_.tell_filled && content_[held.slot] == content::filled && !outdated_[held.slot]) {
    news_.withdrawn.push_back(cache_.key_of(held.slot));
  }
  cache_.remove(held.slot);
  block_of_[held.slot] = no_block;
  held.slot = no_slot;
  held.found = false;
}

// Where a block's chain begins, or the place of the block before it.
std::size_t kv_manager::parent_of(const sequence& s, std::size_t index) const {
  bool is_root =
      index == 0 ||
      (is_chunk(s, index) &&
       !(is_chunk(s, index - 1) && s.layout->chunk_at(index) == s.layout->chunk_at(index - 1)));
  return is_root ? index : index - 1;
}

chained_key kv_manager::chained(const sequence& s, std::size_t index) const {
  return {key_at(s, index), key_at(s, parent_of(s, index))};
}

entry_view kv_manager::view(const sequence& s, std::size_t index) const {
  entry_view entry{.key = key_at(s, index), .depth = static_cast<std::uint32_t>(index)};
  std::size_t parent = parent_of(s, index);
  entry.parent = parent < index && index <= s.blocks.size() ? s.blocks[parent].slot : no_slot;
  entry.session = s.session;
  entry.tokens_before = index == 0 ? token_count{} : full_end_of(s, index - 1);
  if (settings_.needs.queue > 0) {
    auto found = wanted_.find(entry.key);
    entry.wanted = found == wanted_.end() ? 0 : found->second;
  }
  if (settings_.needs.costs) {
    tell_costs(s, entry);
  }
  if (s.notes != nullptr) {
    entry.category = s.notes->category;
    entry.priority = s.notes->hint.priority;
    entry.retention = s.notes->hint.duration;
    entry.agent = s.notes->agent;
  }
  return entry;
}

// The price is linear in the depth, so the mean over the blocks to compute is that of the first and
// the last of them.
void kv_manager::tell_costs(const sequence& s, entry_view& entry) const {
  std::int64_t tokens = settings_.block_tokens;
  entry.recompute_seconds = settings_.recompute.seconds(
      entry.tokens_before, end_of(s, entry.depth) - entry.tokens_before);
  auto first = static_cast<std::int64_t>(std::min(s.found, s.keys.size() - 1));
  auto last = static_cast<std::int64_t>(s.keys.size()) - 1;
  entry.request_seconds = (settings_.recompute.seconds(first * tokens, tokens) +
                           settings_.recompute.seconds(last * tokens, tokens)) /
                          2;
}

void kv_manager::want(const sequence& s) {
  for (std::size_t i = 0; sharing_.shares() && i < s.keys.size(); ++i) {
    if (wanted_[s.keys[i]]++ == 0) {
      if (slot_id slot = cache_.find(s.keys[i]); slot != no_slot) {
        policy_.on_want(slot);
      }
    }
  }
}

void kv_manager::unwant(const sequence& s) {
  for (std::size_t i = 0; sharing_.shares() && i < s.keys.size(); ++i) {
    auto found = wanted_.find(s.keys[i]);
    REFRAIN_ASSERT(found != wanted_.end());
    if (--found->second == 0) {
      wanted_.erase(found);
      if (slot_id slot = cache_.find(s.keys[i]); slot != no_slot) {
        policy_.on_unwant(slot);
      }
    }
  }
}

void kv_manager::note_peak() {
  peak_ = std::max(peak_, used_ + cache_.unpinned());
}

}  // namespace refrain
