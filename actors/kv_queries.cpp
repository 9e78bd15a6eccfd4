// What the kv_manager answers without changing anything: what a request finds, what it would need,
// and whether everything is accounted for.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "actors/kv_manager.hpp"
#include "traces/error.hpp"

namespace refrain {

bool kv_manager::can_ever_hold(const sequence& s) const {
  // The last output token is never read, so it has no KV.
  std::int64_t outputs = std::max<std::int64_t>(s.output_tokens, 1) - 1;
  return blocks_for(s, token_count{s.input_tokens + outputs}) <= pool_.capacity();
}

token_count kv_manager::end_of(const sequence& s, std::size_t index) const {
  std::int64_t full = full_end_of(s, index);
  bool is_short = s.short_last_block && index + 1 == s.keys.size();
  return token_count{is_short ? std::min<std::int64_t>(full, s.input_tokens) : full};
}

slot_id kv_manager::visible_slot(const sequence& s, std::size_t index) const {
  if (!findable(s, index)) {
    return no_slot;
  }
  slot_id slot = cache_.find(s.keys[index]);
  return slot != no_slot && content_[slot] == content::filled && !outdated_[slot] ? slot : no_slot;
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
    bool is_pending = slot != no_slot && content_[slot] != content::filled;
    return is_pending ? block_state::pending : block_state::unshared;
  }
  if (slot == no_slot || outdated_[slot]) {
    return block_state::absent;
  }
  return content_[slot] == content::filled ? block_state::findable : block_state::pending;
}

bool kv_manager::is_left(const sequence& s, std::size_t index) const {
  return index < s.left.size() && s.left[index] != no_block &&
         full_end_of(s, index) <= s.left_tokens &&
         pool_.is_left(s.left[index], s.id, static_cast<std::uint32_t>(index));
}

kv_match kv_manager::match(const sequence& s, token_count total) const {
  if (s.layout) {
    return s.planned ? match_planned(s, total) : match_chunks(s, total, {});
  }
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
  found.spans = s.spans;
  found.blocks = static_cast<std::int64_t>(s.filled);
  found.tokens = s.filled == 0 ? token_count{0} : end_of(s, s.filled - 1);
  found.tokens = std::min(found.tokens, token_count{total - 1});
  return found;
}

bool kv_manager::is_coming(const sequence& s, const kv_match& found) const {
  auto next = static_cast<std::size_t>(found.blocks);
  if (!findable(s, next)) {
    return false;
  }
  slot_id slot = cache_.find(s.keys[next]);
  return slot != no_slot && content_[slot] == content::loading;
}

bool kv_manager::would_fit_without(const std::vector<const sequence*>& others, const sequence& s,
                                   const kv_match& found, token_count upto) const {
  std::int64_t freed = 0;
  absl::flat_hash_map<slot_id, std::uint32_t> pins;
  for (const sequence* other : others) {
    for (const held_block& held : other->blocks) {
      if (held.slot == no_slot) {
        ++freed;
      } else if (++pins[held.slot] == cache_.pins_of(held.slot)) {
        ++freed;
      }
    }
  }
  auto take_again = [&](slot_id slot) {
    auto given_up = slot == no_slot ? pins.end() : pins.find(slot);
    if (given_up != pins.end() && given_up->second == cache_.pins_of(slot)) {
      --freed;  // it would be taken again at once
    }
  };
  for (std::int64_t i = 0; i < found.blocks; ++i) {
    take_again(visible_slot(s, static_cast<std::size_t>(i)));
  }
  for (const reused_span& span : found.spans) {
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      take_again(visible(key_in(s, span, i)));
    }
    upto = std::max(upto, span.end);
  }
  return needed(s, found, upto) <= obtainable() + freed;
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
