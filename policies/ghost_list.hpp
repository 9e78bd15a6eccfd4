// Ghosts: keys that were evicted and are remembered for a while, in two lists, oldest first. One
// ring holds both in order of arrival; a key that is taken out leaves a hole, and when holes fill
// the ring it is closed up. An index by hash finds a key; each of its cells holds a place in the
// ring and, in the bits above, a part of the hash, so that a miss seldom reads the ring. All is
// sized at the start: about 17 bytes a key.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "policies/key_map.hpp"
#include "traces/error.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// At most `most` keys in the lists 0 and 1 together; `spare` more places hold holes (closing up
/// costs most / spare steps a hole).
class ghost_list {
 public:
  /// No list.
  static constexpr std::uint32_t none = 2;

  ghost_list(std::uint32_t most, std::uint32_t spare)
      : most_{most},
        keys_(std::size_t{most} + spare + 1),
        live_(keys_.size()),
        lists_(keys_.size()),
        cells_(std::size_t{most} * 2 + 2, vacant),
        place_bits_{static_cast<std::uint32_t>(std::bit_width(keys_.size()))} {}

  bool full() const { return counts_[0] + counts_[1] == most_; }
  std::uint32_t count(std::uint32_t list) const { return counts_[list]; }
  /// Size of a list, in the units of its keys.
  std::int64_t units(std::uint32_t list) const { return units_[list]; }

  /// Adds a key that is in no list as the newest of one; the lists must not be full.
  void push(std::uint32_t list, block_key key, std::uint32_t size) {
    REFRAIN_ASSERT(!full());
    if (used_ == keys_.size()) {
      close_up();
    }
    std::uint32_t place = place_of(used_++);
    write(place, list, key);
    if (size != 1 || !sizes_.empty()) {
      remember_size(place, size);
    }
    ++counts_[list];
    units_[list] += size;
  }

  /// Starts loading what a call with this key will read.
  void prefetch(block_key key) const { __builtin_prefetch(&cells_[home(key_hash{}(key))]); }

  /// The list of a key, or none.
  std::uint32_t find(block_key key) const {
    std::uint32_t cell = cells_[cell_of(key)];
    return cell == vacant ? none : lists_[place_in(cell)];
  }

  /// Takes a key out; the list that it was in, or none.
  std::uint32_t take(block_key key) {
    std::size_t at = cell_of(key);
    if (cells_[at] == vacant) {
      return none;
    }
    std::uint32_t place = place_in(cells_[at]);
    drop(at, place);
    return lists_[place];
  }

  /// Forgets the oldest key of a list that is not empty.
  void drop_oldest(std::uint32_t list) {
    std::uint32_t& offset = oldest_[list];
    while (!live_[place_of(offset)] || lists_[place_of(offset)] != (list != 0)) {
      ++offset;
    }
    std::uint32_t place = place_of(offset);
    drop(cell_of(keys_[place]), place);
    // In a full list its next oldest key soon follows.
    prefetch(keys_[place_of(std::min(offset + 1, used_))]);
  }

 private:
  static constexpr std::uint32_t vacant = UINT32_MAX;

  /// The place `offset` places behind the first one in use.
  std::uint32_t place_of(std::uint32_t offset) const {
    std::uint32_t place = first_ + offset;
    auto places = static_cast<std::uint32_t>(keys_.size());
    return place < places ? place : place - places;
  }
  std::uint32_t place_in(std::uint32_t cell) const { return cell & ((1u << place_bits_) - 1); }
  std::uint32_t tag_of(std::size_t hash) const {
    return static_cast<std::uint32_t>(hash) >> place_bits_ << place_bits_;
  }
  std::size_t home(std::size_t hash) const { return (hash >> 32) * cells_.size() >> 32; }

  /// The cell that holds the key, or the vacant one where it belongs.
  std::size_t cell_of(block_key key) const {
    std::size_t hash = key_hash{}(key);
    std::size_t at = home(hash);
    while (cells_[at] != vacant) {
      std::uint32_t place = place_in(cells_[at]);
      if (cells_[at] - place == tag_of(hash) && keys_[place] == key) {
        break;
      }
      at = next(at);
    }
    return at;
  }
  std::size_t next(std::size_t at) const { return at + 1 == cells_.size() ? 0 : at + 1; }

  void write(std::uint32_t place, std::uint32_t list, block_key key) {
    cells_[cell_of(key)] = place | tag_of(key_hash{}(key));
    keys_[place] = key;
    live_[place] = true;
    lists_[place] = list != 0;
  }

  void drop(std::size_t at, std::uint32_t place) {
    vacate(at);
    live_[place] = false;
    std::uint32_t list = lists_[place];
    --counts_[list];
    units_[list] -= sizes_.empty() ? 1 : sizes_[place];
    while (used_ > 0 && !live_[first_]) {
      first_ = place_of(1);
      --used_;
      for (std::uint32_t& offset : oldest_) {
        offset -= offset > 0 ? 1 : 0;
      }
    }
  }

  // Whatever stands behind the hole and may stand in it moves up.
  void vacate(std::size_t hole) {
    for (std::size_t at = next(hole); cells_[at] != vacant; at = next(at)) {
      std::size_t from = home(key_hash{}(keys_[place_in(cells_[at])]));
      if (distance(from, at) >= distance(hole, at)) {
        cells_[hole] = cells_[at];
        hole = at;
      }
    }
    cells_[hole] = vacant;
  }
  std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + cells_.size() - from;
  }

  void close_up() {
    std::fill(cells_.begin(), cells_.end(), vacant);
    std::uint32_t kept = 0;
    for (std::uint32_t offset = 0; offset < used_; ++offset) {
      std::uint32_t from = place_of(offset);
      if (!live_[from]) {
        continue;
      }
      std::uint32_t to = place_of(kept++);
      live_[from] = false;
      if (!sizes_.empty()) {
        sizes_[to] = sizes_[from];
      }
      write(to, lists_[from], keys_[from]);
    }
    used_ = kept;
    oldest_[0] = oldest_[1] = 0;
  }

  void remember_size(std::uint32_t place, std::uint32_t size) {
    if (sizes_.empty()) {
      sizes_.resize(keys_.size(), 1);
    }
    sizes_[place] = size;
  }

  std::uint32_t most_;
  std::vector<block_key> keys_;  // the ring
  std::vector<bool> live_;
  std::vector<bool> lists_;
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  std::vector<std::uint32_t> cells_;  // the index
  std::uint32_t place_bits_;
  std::uint32_t first_ = 0;           // place of the oldest key
  std::uint32_t used_ = 0;            // places from there on, holes included
  std::uint32_t oldest_[2] = {0, 0};  // no live key of the list lies before this offset
  std::uint32_t counts_[2] = {0, 0};
  std::int64_t units_[2] = {0, 0};
};

}  // namespace refrain
