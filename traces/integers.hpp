// Integer types that do not mix: a count of tokens cannot be passed where bytes are meant. Each
// reads as its plain integer (so it indexes and prints as one) and is made from one only on
// purpose.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>

namespace refrain {

/// A distinct integer: implicit to its representation, explicit from it.
template <class Tag, class Rep>
class distinct {
 public:
  using rep = Rep;

  constexpr distinct() = default;
  constexpr explicit distinct(Rep value) : value_{value} {}
  constexpr operator Rep() const { return value_; }
  constexpr Rep get() const { return value_; }

  constexpr distinct& operator+=(distinct other) {
    value_ = static_cast<Rep>(value_ + other.value_);
    return *this;
  }
  constexpr distinct& operator-=(distinct other) {
    value_ = static_cast<Rep>(value_ - other.value_);
    return *this;
  }
  constexpr distinct& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr distinct operator+(distinct a, distinct b) { return a += b; }
  friend constexpr distinct operator-(distinct a, distinct b) { return a -= b; }
  friend constexpr auto operator<=>(distinct a, distinct b) { return a.value_ <=> b.value_; }
  friend constexpr bool operator==(distinct a, distinct b) { return a.value_ == b.value_; }

 private:
  Rep value_ = 0;
};

/// Identity of one KV block: what its tokens are and all that precedes them.
using block_key = distinct<struct block_key_tag, std::uint64_t>;
/// Identity of a piece of text, wherever it stands.
using content_id = distinct<struct content_id_tag, std::uint64_t>;
/// Position of an entry in a cache's arrays: dense, reused after removal.
using slot_id = distinct<struct slot_id_tag, std::uint32_t>;
/// Row of a trace, counted from 0: the identity of a request.
using request_id = distinct<struct request_id_tag, std::uint64_t>;
/// A conversation, counted from 0 in order of first appearance.
using session_id = distinct<struct session_id_tag, std::uint64_t>;
using token_count = distinct<struct token_count_tag, std::int64_t>;
using byte_count = distinct<struct byte_count_tag, std::int64_t>;

/// A token of a model's vocabulary: its row in the embedding.
using token_id = std::int32_t;

/// Virtual time: whole nanoseconds since the start of the run, or a span of it.
using sim_time = std::chrono::nanoseconds;

/// No slot: the parent of a first block, the end of a list.
inline constexpr slot_id no_slot{UINT32_MAX};

/// Seconds as virtual time, rounded to the nearest nanosecond.
constexpr sim_time from_seconds(double seconds) {
  double ns = seconds * 1e9;
  return sim_time{static_cast<std::int64_t>(ns < 0 ? ns - 0.5 : ns + 0.5)};
}

/// Virtual time in seconds.
constexpr double to_seconds(sim_time time) {
  return static_cast<double>(time.count()) * 1e-9;
}

}  // namespace refrain

template <class Tag, class Rep>
struct std::hash<refrain::distinct<Tag, Rep>> {
  std::size_t operator()(refrain::distinct<Tag, Rep> value) const noexcept {
    return std::hash<Rep>{}(value.get());
  }
};
