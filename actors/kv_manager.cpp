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
      filled_(settings.slots) {}

bool kv_manager::can_ever_hold(const sequence& s) const {
  // The last output token is never read, so it has no KV.
  std::int64_t outputs = std::max<std::int64_t>(s.output_tokens, 1) - 1;
  return blocks_for(token_count{s.input_tokens + outputs}) <= pool_.capacity();
}

token_count kv_manager::end_of(const sequence& s, std::size_t index) const {
  std::int64_t full = (static_cast<std::int64_t>(index) + 1) * settings_.block_tokens;
  bool is_short = s.short_last_block && index + 1 == s.keys.size();
  return token_count{is_short ? std::min<std::int64_t>(full, s.input_tokens) : full};
}

slot_id kv_manager::visible_slot(const sequence& s, std::size_t index) const {
  if (!findable(s, index)) {
    return no_slot;
  }
  slot_id slot = cache_.find(s.keys[index]);
  return slot != no_slot && filled_[slot] ? slot : no_slot;
}

block_state kv_manager::state_of(const sequence& s, std::size_t index) const {
  if (index >= s.keys.size()) {
    return block_state::unnamed;
  }
  if (!sharing_.shares()) {
    return block_state::unshared;
  }
  slot_id slot = cache_.find(s.keys[index]);
  if (index < s.blocks.size() && !s.blocks[index].found) {
    // Allocated by this request: under its key, or beside one that another was computing, or
    // refused.
    if (s.blocks[index].slot != no_slot) {
      return block_state::absent;
    }
    return slot == no_slot ? block_state::unshared : block_state::pending;
  }
  if (slot == no_slot) {
    return block_state::absent;
  }
  return filled_[slot] ? block_state::findable : block_state::pending;
}

bool kv_manager::is_left(const sequence& s, std::size_t index) const {
  return index < s.left.size() && s.left[index] != no_block &&
         (static_cast<std::int64_t>(index) + 1) * settings_.block_tokens <= s.left_tokens &&
         pool_.is_left(s.left[index], s.id, static_cast<std::uint32_t>(index));
}

kv_match kv_manager::match(const sequence& s, token_count total) const {
  kv_match found;
  // Output tokens are known only to a request that has made them.
  std::int64_t known = std::max<std::int64_t>(s.left_tokens, s.input_tokens);
  std::size_t index = 0;
  for (;; ++index) {
    std::int64_t end = end_of(s, index);
    if (end > known || (visible_slot(s, index) == no_slot && !is_left(s, index))) {
      break;
    }
    found.tokens = token_count{end};
    // Behind a short block the chain is broken.
    if (end % settings_.block_tokens != 0) {
      ++index;
      break;
    }
  }
  found.blocks = static_cast<std::int64_t>(index);
  if (s.left_tokens == 0) {
    reuse_offer offer{s.input_tokens, found.blocks, found.tokens};
    std::int64_t taken = sharing_.plan(offer);
    REFRAIN_ASSERT(taken >= 0 && taken <= found.blocks);
    if (taken < found.blocks) {
      found.blocks = taken;
      found.tokens = token_count{taken * settings_.block_tokens};
    }
  }
  for (std::int64_t before = found.tokens; findable(s, index) && end_of(s, index) <= s.input_tokens;
       ++index) {
    if (cache_.find(s.keys[index]) == no_slot || visible_slot(s, index) != no_slot) {
      break;
    }
    found.pending_tokens += token_count{end_of(s, index) - before};
    before = end_of(s, index);
  }
  found.tokens = std::min(found.tokens, token_count{total - 1});
  return found;
}

kv_match kv_manager::held(const sequence& s, token_count total) const {
  kv_match found;
  found.blocks = static_cast<std::int64_t>(s.filled);
  found.tokens = s.filled == 0 ? token_count{0} : end_of(s, s.filled - 1);
  found.tokens = std::min(found.tokens, token_count{total - 1});
  return found;
}

std::int64_t kv_manager::needed(const sequence& s, const kv_match& found, token_count upto) const {
  auto held = std::max(found.blocks, static_cast<std::int64_t>(s.blocks.size()));
  std::int64_t fresh = std::max<std::int64_t>(blocks_for(upto) - held, 0);
  for (std::int64_t i = 0; i < found.blocks; ++i) {
    slot_id slot = visible_slot(s, static_cast<std::size_t>(i));
    // An unused cached block is obtainable until it is taken; a block left by this request
    // likewise.
    fresh += slot == no_slot || cache_.pins_of(slot) == 0 ? 1 : 0;
  }
  return fresh;
}

bool kv_manager::admit(sequence& s, const kv_match& found, token_count upto, sim_time now) {
  REFRAIN_ASSERT(s.blocks.empty());
  auto hits = static_cast<std::size_t>(found.blocks);
  std::int64_t need = needed(s, found, upto);
  slot_id last = hits > 0 ? visible_slot(s, hits - 1) : no_slot;
  bool copy = last != no_slot && writes_found_block(s, hits, upto);
  if (!has_room(need, copy, copy ? cache_.pins_of(last) : 0)) {
    return false;
  }
  policy_.begin_request({s.id, s.session, s.input_tokens, s.output_tokens, now});
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
  s.left.clear();
  s.left_tokens = token_count{0};
  if (copy) {
    copy_short_block(s, blocks_for(upto) - found.blocks);
  }
  extend(s, upto);
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
  while (static_cast<std::int64_t>(s.blocks.size()) < blocks_for(upto)) {
    append(s);
  }
  note_peak();
}

void kv_manager::append(sequence& s) {
  std::size_t index = s.blocks.size();
  if (findable(s, index)) {
    slot_id slot = cache_.find(s.keys[index]);
    if (slot != no_slot && filled_[slot]) {
      s.blocks.push_back(use_found(s, index, slot));
      return;
    }
    entry_view entry = view(s, index);
    if (slot == no_slot && may_enter(s, entry) && policy_.on_miss(entry)) {
      block_id block = take();
      slot = cache_.insert(entry);
      if (slot >= block_of_.size()) {
        block_of_.resize(slot + 1 + slot / 2, no_block);
        filled_.resize(block_of_.size());
      }
      block_of_[slot] = block;
      filled_[slot] = false;
      cache_.pin(slot);
      ++used_;
      ++inserted_;
      s.blocks.push_back({block, slot, false});
      return;
    }
  }
  // Not findable, refused, or another request is computing the same tokens right now.
  s.blocks.push_back({take(), no_slot, false});
  ++used_;
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
    gate_.policy->on_access(s.keys[index]);
  }
  policy_.on_hit(slot, view(s, index));
  if (settings_.tell_reused) {
    news_.reused.push_back(s.keys[index]);
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
  }
}

block_id kv_manager::take() {
  if (pool_.available() > 0) {
    return pool_.take();
  }
  return evict();
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

void kv_manager::fill(sequence& s, token_count upto) {
  while (s.filled < s.blocks.size() && end_of(s, s.filled) <= upto) {
    if (slot_id slot = s.blocks[s.filled].slot; slot != no_slot && !filled_[slot]) {
      filled_[slot] = true;
      if (settings_.tell_filled) {
        news_.filled.push_back(s.keys[s.filled]);
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
}

void kv_manager::let_go_of(sequence& s, std::size_t index, bool preempted) {
  held_block& held = s.blocks[index];
  if (held.slot != no_slot && !filled_[held.slot]) {
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
  if (settings_.tell_filled && filled_[held.slot]) {
    news_.withdrawn.push_back(cache_.key_of(held.slot));
  }
  cache_.remove(held.slot);
  block_of_[held.slot] = no_block;
  held.slot = no_slot;
  held.found = false;
}

entry_view kv_manager::view(const sequence& s, std::size_t index) const {
  entry_view entry{.key = s.keys[index], .depth = static_cast<std::uint32_t>(index)};
  entry.parent = index > 0 && index <= s.blocks.size() ? s.blocks[index - 1].slot : no_slot;
  entry.session = s.session;
  entry.tokens_before = token_count{static_cast<std::int64_t>(index) * settings_.block_tokens};
  if (settings_.needs.queue > 0) {
    auto found = wanted_.find(entry.key);
    entry.wanted = found == wanted_.end() ? 0 : found->second;
  }
  if (settings_.needs.costs) {
    tell_costs(s, entry);
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
  for (std::size_t i = 0; findable(s, i); ++i) {
    if (wanted_[s.keys[i]]++ == 0) {
      if (slot_id slot = cache_.find(s.keys[i]); slot != no_slot) {
        policy_.on_want(slot);
      }
    }
  }
}

void kv_manager::unwant(const sequence& s) {
  for (std::size_t i = 0; findable(s, i); ++i) {
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

void kv_manager::check(const std::vector<const sequence*>& running) const {
  std::int64_t private_blocks = 0;
  absl::flat_hash_map<slot_id, std::uint32_t> pins;
  for (const sequence* s : running) {
    for (const held_block& held : s->blocks) {
      if (held.slot == no_slot) {
        ++private_blocks;
      } else {
        ++pins[held.slot];
        REFRAIN_ASSERT(block_of_[held.slot] == held.block);
      }
    }
  }
  for (const auto& [slot, count] : pins) {
    REFRAIN_ASSERT(cache_.pins_of(slot) == count);
  }
  auto shared = static_cast<std::int64_t>(pins.size());
  REFRAIN_ASSERT(used_ == private_blocks + shared);
  REFRAIN_ASSERT(cache_.resident() == shared + cache_.unpinned());
  std::int64_t cached = settings_.needs.unbounded ? 0 : cache_.unpinned();
  REFRAIN_ASSERT(pool_.available() + used_ + cached == pool_.capacity());
}

}  // namespace refrain
