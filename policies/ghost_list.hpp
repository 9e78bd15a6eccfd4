// Ghosts: keys that were evicted and are remembered for a while, in two lists, oldest first. One
// ring holds both in order of arrival; a key that is taken out leaves a hole, and when holes fill
// the ring it is closed up. An index by hash finds a key: lines of fifteen cells, half filled, of
// which each holds a place in the ring and, in the bits above, a part of the hash, so that a miss
// reads one line and seldom the ring. As in key_map a line counts the keys that went past it. All
// is sized at the start: about 19 bytes a key. Who keeps something beside a ghost numbers it by its
// place in the ring, and is told when places change.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
  /// No place.
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  ghost_list(std::uint32_t most, std::uint32_t spare)
      : most_{most},
        keys_(std::size_t{most} + spare + 1),
        states_(keys_.size()),
        lines_(std::size_t{most} * 2 / line::width + 1),
        place_bits_{static_cast<std::uint32_t>(std::bit_width(keys_.size()))} {}

  /// Places are numbers below this.
  std::uint32_t places() const { return static_cast<std::uint32_t>(keys_.size()); }
  bool full() const { return counts_[0] + counts_[1] == most_; }
  std::uint32_t count(std::uint32_t list) const { return counts_[list]; }
  /// Size of a list, in the units of its keys.
  std::int64_t units(std::uint32_t list) const { return units_[list]; }

  /// Adds a key that is in no list as the newest of one; the lists must not be full.
  void push(std::uint32_t list, block_key key, std::uint32_t size) {
    push(list, key, size, [](std::uint32_t, std::uint32_t) {});
  }
  /// The same; calls `moved(from, to)` for each key that gets another place, and returns the new
  /// key's.
  template <class Moved>
  std::uint32_t push(std::uint32_t list, block_key key, std::uint32_t size, const Moved& moved) {
    REFRAIN_ASSERT(!full());
    if (used_ == keys_.size()) {
      close_up(moved);
    }
    std::uint32_t place = place_of(used_++);
    write(place, list, key);
    if (size != 1 || !sizes_.empty()) {
      remember_size(place, size);
    }
    ++counts_[list];
    units_[list] += size;
    return place;
  }

  /// Starts loading what a call with this key will read.
  void prefetch(block_key key) const { __builtin_prefetch(&lines_[home(key_hash{}(key))]); }

  /// The list of a key, or none.
  std::uint32_t find(block_key key) const {
    std::uint32_t place = place_with(key);
    return place == nowhere ? none : list_at(place);
  }

  /// Takes a key out; the list that it was in, or none.
  std::uint32_t take(block_key key) {
    std::uint32_t place = place_with(key);
    if (place == nowhere) {
      return none;
    }
    drop(place);
    return list_at(place);
  }

  /// Forgets the oldest key of a list that is not empty.
  void drop_oldest(std::uint32_t list) {
    drop(oldest(list));
    // In a full list its next oldest key soon follows.
    prefetch(keys_[place_of(std::min(oldest_[list] + 1, used_))]);
  }

  /// The place of the oldest key of a list that is not empty.
  std::uint32_t oldest(std::uint32_t list) {
    std::uint32_t& offset = oldest_[list];
    while (states_[place_of(offset)] != (live | list)) {
      ++offset;
    }
    return place_of(offset);
  }

  /// Where the key stands in the ring, or nowhere.
  std::uint32_t place_with(block_key key) const {
    std::size_t hash = key_hash{}(key);
    for (std::size_t at = home(hash);; at = next(at)) {
      const line& l = lines_[at];
      for (std::uint32_t found = l.matches(cell_of(hash, 0), ~place_mask()); found != 0;
           found &= found - 1) {
        std::uint32_t place = l.cells[std::countr_zero(found)] & place_mask();
        if (keys_[place] == key) {
          return place;
        }
      }
      if (l.passed == 0) {
        return nowhere;
      }
    }
  }

  /// Takes what stands at a place out; its list may still be asked for.
  void drop(std::uint32_t place) {
    std::size_t hash = key_hash{}(keys_[place]);
    std::size_t at = home(hash);
    std::uint32_t found;
    for (; (found = lines_[at].matches(cell_of(hash, place), UINT32_MAX)) == 0; at = next(at)) {
      --lines_[at].passed;
    }
    lines_[at].used &= static_cast<std::uint16_t>(~found);
    std::uint32_t list = list_at(place);
    states_[place] = static_cast<std::uint8_t>(list);
    --counts_[list];
    units_[list] -= sizes_.empty() ? 1 : sizes_[place];
    while (used_ > 0 && states_[first_] < live) {
      first_ = place_of(1);
      --used_;
      for (std::uint32_t& offset : oldest_) {
        offset -= offset > 0 ? 1 : 0;
      }
    }
  }

 private:
  static constexpr std::uint8_t live = 2;  // in a state, beside the list's number

  struct alignas(64) line {
    static constexpr std::uint32_t width = 15;
    static constexpr std::uint32_t full = (1u << width) - 1;

    /// The cells that equal `cell` in the bits of `mask`, a bit each.
    std::uint32_t matches(std::uint32_t cell, std::uint32_t mask) const {
      std::uint32_t found = 0;
#ifdef __SSE2__
      __m128i wanted = _mm_set1_epi32(static_cast<int>(cell & mask));
      __m128i kept = _mm_set1_epi32(static_cast<int>(mask));
      for (std::uint32_t i = 0; i < 4; ++i) {
        __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(this) + i);
        __m128i same = _mm_cmpeq_epi32(_mm_and_si128(four, kept), wanted);
        found |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same))) << 4 * i;
      }
#else
      for (std::uint32_t i = 0; i < width; ++i) {
        found |= static_cast<std::uint32_t>((cells[i] & mask) == (cell & mask)) << i;
      }
#endif
      return found & used;
    }

    std::uint32_t cells[width] = {};
    std::uint16_t used = 0;    // bit i: cell i holds a place
    std::uint16_t passed = 0;  // keys that belong here and stand further on
  };
  static_assert(sizeof(line) == 64);

  /// The place `offset` places behind the first one in use.
  std::uint32_t place_of(std::uint32_t offset) const {
    std::uint32_t place = first_ + offset;
    auto places = static_cast<std::uint32_t>(keys_.size());
    return place < places ? place : place - places;
  }
  std::uint32_t list_at(std::uint32_t place) const {
    return states_[place] & 1u;
  }
  std::uint32_t place_mask() const {
    return (1u << place_bits_) - 1;
  }
  std::uint32_t cell_of(std::size_t hash, std::uint32_t place) const {
    return (static_cast<std::uint32_t>(hash) & ~place_mask()) | place;
  }
  std::size_t home(std::size_t hash) const {
    return (hash >> 32) * lines_.size() >> 32;
  }
  std::size_t next(std::size_t at) const {
    return at + 1 == lines_.size() ? 0 : at + 1;
  }

  void write(std::uint32_t place, std::uint32_t list, block_key key) {
    std::size_t hash = key_hash{}(key);
    std::size_t at = home(hash);
    for (; lines_[at].used == line::full; at = next(at)) {
      ++lines_[at].passed;
    }
    auto free = static_cast<std::uint32_t>(std::countr_one(lines_[at].used));
    lines_[at].cells[free] = cell_of(hash, place);
    lines_[at].used |= static_cast<std::uint16_t>(1u << free);
    keys_[place] = key;
    states_[place] = static_cast<std::uint8_t>(live | list);
  }

  template <class Moved>
  void close_up(const Moved& moved) {
    std::fill(lines_.begin(), lines_.end(), line{});
    std::uint32_t kept = 0;
    for (std::uint32_t offset = 0; offset < used_; ++offset) {
      std::uint32_t from = place_of(offset);
      if (states_[from] < live) {
        continue;
      }
      std::uint32_t to = place_of(kept++);
      std::uint32_t list = list_at(from);
      states_[from] = 0;
      if (!sizes_.empty()) {
        sizes_[to] = sizes_[from];
      }
      write(to, list, keys_[from]);
      if (from != to) {
        moved(from, to);
      }
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
  std::vector<block_key> keys_;       // the ring
  std::vector<std::uint8_t> states_;  // of each place: its list, and `live` unless it is a hole
  std::vector<std::uint32_t> sizes_;  // empty while every size is 1
  std::vector<line> lines_;           // the index
  std::uint32_t place_bits_;
  std::uint32_t first_ = 0;           // place of the oldest key
  std::uint32_t used_ = 0;            // places from there on, holes included
  std::uint32_t oldest_[2] = {0, 0};  // no live key of the list lies before this offset
  std::uint32_t counts_[2] = {0, 0};
  std::int64_t units_[2] = {0, 0};
};

}  // namespace refrain
