#include "actors/lost_tokens.hpp"

#include "traces/error.hpp"

namespace refrain {

std::string_view name_of(lost_cause cause) {
  constexpr std::string_view names[] = {
      "never_seen",   "last_token",     "block_floor", "preempted", "evicted_gpu", "evicted_host",
      "evicted_nvme", "evicted_remote", "not_visible", "router",    "admission",   "load_slower"};
  static_assert(std::size(names) == lost_causes);
  return names[static_cast<std::size_t>(cause)];
}

// Two generations bound the memory: what is used moves to the young one, and a full young one
// replaces the old.
block_history::record& block_history::at(block_key key) {
  auto young = young_.find(key);
  if (young != young_.end()) {
    return young->second;
  }
  record known;
  if (auto old = old_.find(key); old != old_.end()) {
    known = old->second;
    old_.erase(old);
  }
  if (young_.size() >= generation_max) {
    old_ = std::move(young_);
    young_.clear();
  }
  // From here on a table of its final size: growing would hold the old one beside the new.
  if (young_.size() == generation_max / 16) {
    young_.reserve(generation_max);
  }
  return young_.emplace(key, known).first->second;
}

void block_history::held(block_key key) {
  ++at(key).holders;
}

void block_history::evicted_from_gpu(block_key key) {
  record& r = at(key);
  r.holders -= r.holders > 0 ? 1 : 0;
  r.fate = lost_cause::evicted_gpu;
}

void block_history::evicted_below(block_key key, lost_cause where) {
  at(key).fate = where;
}

lost_cause block_history::why_lost(block_key key) const {
  auto found = young_.find(key);
  if (found == young_.end()) {
    found = old_.find(key);
    if (found == old_.end()) {
      return lost_cause::never_seen;
    }
  }
  return found->second.holders > 0 ? lost_cause::router : found->second.fate;
}

}  // namespace refrain
