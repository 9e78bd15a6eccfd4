#include "actors/lost_tokens.hpp"

#include <algorithm>
#include <new>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

std::string_view name_of(lost_cause cause) {
  constexpr std::string_view names[] = {
      "never_seen",   "last_token",   "block_floor",    "preempted",   "evicted_gpu",
      "evicted_host", "evicted_nvme", "evicted_remote", "not_visible", "router",
      "admission",    "load_slower",  "blended"};
  static_assert(std::size(names) == lost_causes);
  return names[static_cast<std::size_t>(cause)];
}

namespace {

// The parts of a word.
constexpr std::uint64_t fate_mask = 15;
constexpr int holders_shift = 4;
constexpr std::uint64_t holders_mask = 0xFFF;
constexpr int tag_shift = 16;
static_assert(lost_causes <= fate_mask + 1);

/// Never 0, so that a word in use is none.
std::uint64_t tag_of(std::uint64_t hash) {
  return std::max<std::uint64_t>(hash >> tag_shift, 1);
}
std::uint64_t holders_of(std::uint64_t word) {
  return word >> holders_shift & holders_mask;
}
lost_cause fate_of(std::uint64_t word) {
  return static_cast<lost_cause>(word & fate_mask);
}
void set_holders(std::uint64_t& word, std::uint64_t holders) {
  word = (word & ~(holders_mask << holders_shift)) | std::min(holders, holders_mask)
                                                         << holders_shift;
}
void set_fate(std::uint64_t& word, lost_cause fate) {
  word = (word & ~fate_mask) | static_cast<std::uint64_t>(fate);
}

}  // namespace

// The key's word, or the empty one where it would stand.
std::uint64_t* block_history::generation::place_of(block_key key) const {
  std::uint64_t hash = mix64(key);
  std::uint64_t tag = tag_of(hash);
  std::size_t place = hash % places;
  while (words_[place] != 0 && words_[place] >> tag_shift != tag) {
    place = (place + 1) % places;
  }
  return &words_[place];
}

std::uint64_t* block_history::generation::find(block_key key) const {
  if (words_ == nullptr) {
    return nullptr;
  }
  std::uint64_t* word = place_of(key);
  return *word == 0 ? nullptr : word;
}

std::uint64_t& block_history::generation::insert(block_key key) {
  REFRAIN_ASSERT(size_ < size_max);
  if (words_ == nullptr) {
    words_.reset(static_cast<std::uint64_t*>(std::calloc(places, sizeof(std::uint64_t))));
    if (words_ == nullptr) {
      throw std::bad_alloc{};
    }
  }
  ++size_;
  std::uint64_t* word = place_of(key);
  *word = tag_of(mix64(key)) << tag_shift;
  return *word;
}

// Two generations bound the memory: what is used moves to the young one, and a full young one
// replaces the old.
std::uint64_t& block_history::at(block_key key) {
  if (std::uint64_t* young = young_.find(key)) {
    return *young;
  }
  const std::uint64_t* old = old_.find(key);
  std::uint64_t known = old != nullptr ? *old & ~(~std::uint64_t{0} << tag_shift) : 0;
  if (young_.size() == generation::size_max) {
    old_ = std::move(young_);
    young_ = {};
  }
  std::uint64_t& word = young_.insert(key);
  word |= known;
  return word;
}

void block_history::held(block_key key) {
  std::uint64_t& word = at(key);
  set_holders(word, holders_of(word) + 1);
}

void block_history::evicted_from_gpu(block_key key) {
  std::uint64_t& word = at(key);
  set_holders(word, holders_of(word) - (holders_of(word) > 0 ? 1 : 0));
  set_fate(word, lost_cause::evicted_gpu);
}

void block_history::evicted_below(block_key key, lost_cause where) {
  set_fate(at(key), where);
}

lost_cause block_history::why_lost(block_key key) const {
  const std::uint64_t* found = young_.find(key);
  if (found == nullptr) {
    found = old_.find(key);
  }
  if (found == nullptr) {
    return lost_cause::never_seen;
  }
  return holders_of(*found) > 0 ? lost_cause::router : fate_of(*found);
}

}  // namespace refrain
