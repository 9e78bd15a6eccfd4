// The map between keys and slots behind every cache: hashing into lines of 64 bytes, each of which
// holds five keys with their slots, half filled on average. A look-up compares the five keys of one
// line without a branch between them, so what it costs beyond the hash is one cache line, which can
// be loaded ahead. A key whose line is full goes to the next one; a line counts the keys that
// passed it so, which tells a look-up when it may stop, and no removal moves anything. The place of
// each slot's key is kept, so that to name or remove it takes no search. It is ours because replay
// spends most of its time here (tests/bench compares it with absl::flat_hash_map). 30 bytes a key,
// whatever the capacity.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/error.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Spreads keys that may be small consecutive numbers.
struct key_hash {
  std::size_t operator()(block_key key) const {
    auto product = static_cast<__uint128_t>(key.get()) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(product) ^ static_cast<std::size_t>(product >> 64);
  }
};

/// Keys with their slots. Never allocates while it holds no more keys than it was made for, in
/// slots below that number.
class key_map {
 public:
  explicit key_map(std::size_t keys)
      : lines_(keys * 2 / line::width + 2), places_(keys), room_{room()} {}

  std::size_t size() const { return size_; }

  /// The slot of a key, or no_slot.
  slot_id find(block_key key) const {
    std::size_t at = home(key);
    return find(key, at, matches(key, at));
  }

  // A look-up in steps, for who knows his keys ahead: whether a key is there decides a branch that
  // nothing can predict, so all that it waits for is better done before.

  /// The line where the look-up of a key begins; valid until the map grows.
  std::size_t home(block_key key) const { return (key_hash{}(key) >> 32) * lines_.size() >> 32; }
  /// Starts loading it.
  void prefetch_line(std::size_t home) const { __builtin_prefetch(&lines_[home]); }
  /// Where in it the key is, as bits; valid until a key is added or removed.
  std::uint32_t matches(block_key key, std::size_t home) const { return lines_[home].matches(key); }
  /// The slot of a key of which this is known, or no_slot.
  slot_id find(block_key key, std::size_t home, std::uint32_t matches) const {
    if (matches != 0) {
      return lines_[home].slots[std::countr_zero(matches)];
    }
    return lines_[home].passed == 0 ? no_slot : find_further(key, home);
  }

  /// The key that was last inserted with this slot, also after its removal until the next
  /// insertion.
  block_key key_of(slot_id slot) const {
    std::uint32_t place = places_[slot];
    return lines_[place / 16].key(place % 8);
  }
  /// Starts loading what erase(slot) will read.
  void prefetch(slot_id slot) const { __builtin_prefetch(&lines_[places_[slot] / 16]); }

  /// Adds a key that is not there with a slot that no key has.
  void insert(block_key key, slot_id slot) {
    if (size_ == room_ || slot >= places_.size()) {
      grow(slot);
    }
    ++size_;
    put(key, slot);
  }

  /// Removes the key that has this slot.
  void erase(slot_id slot) {
    --size_;
    std::uint32_t place = places_[slot];
    line& l = lines_[place / 16];
    l.used &= static_cast<std::uint8_t>(~(1u << place % 8));
    if ((place & passed_by) != 0) {
      for (std::size_t at = home(l.key(place % 8)); at != place / 16; at = next(at)) {
        --lines_[at].passed;
      }
    }
  }

 private:
  // The halves of four keys stand side by side, so that one instruction compares them all.
  struct alignas(64) line {
    static constexpr std::uint32_t width = 5;
    static constexpr std::uint8_t full = (1u << width) - 1;

    std::uint32_t matches(block_key key) const {
      auto low = static_cast<std::uint32_t>(key.get());
      auto high = static_cast<std::uint32_t>(key.get() >> 32);
      std::uint32_t found = static_cast<std::uint32_t>(last == key.get()) << 4;
#ifdef __SSE2__
      __m128i same_low = _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(lows)),
                                         _mm_set1_epi32(static_cast<int>(low)));
      __m128i same_high = _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(highs)),
                                          _mm_set1_epi32(static_cast<int>(high)));
      __m128i same = _mm_and_si128(same_low, same_high);
      found |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same)));
#else
      for (std::uint32_t i = 0; i < 4; ++i) {
        found |= static_cast<std::uint32_t>(lows[i] == low && highs[i] == high) << i;
      }
#endif
      return found & used;
    }
    block_key key(std::uint32_t place) const {
      return block_key{place == 4 ? last : std::uint64_t{highs[place]} << 32 | lows[place]};
    }
    void set(std::uint32_t place, block_key key, slot_id slot) {
      slots[place] = slot;
      used |= static_cast<std::uint8_t>(1u << place);
      if (place == 4) {
        last = key;
      } else {
        lows[place] = static_cast<std::uint32_t>(key.get());
        highs[place] = static_cast<std::uint32_t>(key.get() >> 32);
      }
    }

    std::uint32_t lows[4] = {};
    std::uint32_t highs[4] = {};
    std::uint64_t last = 0;
    slot_id slots[width] = {};
    std::uint8_t used = 0;     // bit i: place i holds a key
    std::uint16_t passed = 0;  // keys that belong here and stand further on
  };
  static_assert(sizeof(line) == 64);

  std::size_t next(std::size_t at) const {
    return at + 1 == lines_.size() ? 0 : at + 1;
  }

  [[gnu::noinline]] slot_id find_further(block_key key, std::size_t at) const {
    do {
      at = next(at);
      if (std::uint32_t found = lines_[at].matches(key); found != 0) {
        return lines_[at].slots[std::countr_zero(found)];
      }
    } while (lines_[at].passed != 0);
    return no_slot;
  }

  void put(block_key key, slot_id slot) {
    std::size_t at = home(key);
    std::uint32_t how = 0;
    for (; lines_[at].used == line::full; at = next(at)) {
      ++lines_[at].passed;
      how = passed_by;
    }
    line& l = lines_[at];
    // Some place is vacant: the fifth, where no other is.
    auto vacant = static_cast<std::uint32_t>(std::countr_zero(~unsigned{l.used} | 1u << 4));
    l.set(vacant, key, slot);
    places_[slot] = static_cast<std::uint32_t>(at) * 16 + how + vacant;
  }

  std::size_t room() const {
    return lines_.size() * line::width / 2;
  }

  // Makes room for one more key, with this slot.
  [[gnu::noinline]] void grow(slot_id slot) {
    if (slot >= places_.size()) {
      places_.resize(slot * std::size_t{2} + 1);
    }
    if (size_ < room_) {
      return;
    }
    REFRAIN_ASSERT(lines_.size() < lines_max / 2);
    std::vector<line> old(lines_.size() * 2);
    old.swap(lines_);
    room_ = room();
    for (const line& l : old) {
      for (std::uint32_t i = 0; i < line::width; ++i) {
        if ((l.used >> i & 1) != 0) {
          put(l.key(i), l.slots[i]);
        }
      }
    }
  }

  static constexpr std::uint32_t passed_by = 8;  // in a place: not in the line of its hash
  static constexpr std::size_t lines_max = std::size_t{1} << 28;

  std::vector<line> lines_;
  std::vector<std::uint32_t> places_;  // of each slot: line * 16 + passed_by + place in the line
  std::size_t room_;                   // keys that leave it half full
  std::size_t size_ = 0;
};

}  // namespace refrain
