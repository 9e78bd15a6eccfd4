#include "policies/lru_curve.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "policies/key_map.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// Marks on a line that grows to the right, and how many stand to the right of a place. For each 64
/// places the marks before them within 1,024 are kept, for each 1,024 those within 16,384, and for
/// each 16,384 all before them: to count is four loads, to mark the end costs next to nothing, and
/// to clear costs a step for every 16,384 places further right, which are few, since most blocks
/// that come again come soon.
class mark_line {
 public:
  explicit mark_line(std::size_t places)
      : groups_((places + group - 1) / group),
        rows_(groups_.size() * fan),
        befores_(rows_.size() * fan),
        words_(befores_.size()) {}

  bool full() const { return end_ == words_.size() * 64; }
  std::size_t size() const { return words_.size() * 64; }
  std::uint32_t marks() const { return marks_; }

  /// Marks the next place and returns it; the line must not be full.
  std::uint32_t append() {
    if (end_ % 64 == 0) {
      open();
    }
    words_[end_ / 64] |= std::uint64_t{1} << end_ % 64;
    ++marks_;
    return end_++;
  }
  void clear(std::uint32_t place) {
    words_[place / 64] &= ~(std::uint64_t{1} << place % 64);
    take_one_behind(&befores_[place / row * fan], place / 64 % fan);
    take_one_behind(&rows_[place / group * fan], place / row % fan);
    for (std::size_t i = place / group + 1; i <= (end_ - 1) / group; ++i) {
      --groups_[i];
    }
    --marks_;
  }

  /// Marks behind `place`, which is marked itself.
  std::uint32_t behind(std::uint32_t place) const {
    std::uint64_t upto = words_[place / 64] << (63 - place % 64);
    return marks_ - groups_[place / group] - rows_[place / row] - befores_[place / 64] -
           static_cast<std::uint32_t>(std::popcount(upto));
  }

 private:
  static constexpr std::uint32_t fan = 16;
  static constexpr std::uint32_t row = 64 * fan;
  static constexpr std::uint32_t group = row * fan;

  /// What begins at the end of the line begins with the marks before it.
  void open() {
    std::uint32_t& all = groups_[end_ / group];
    all = end_ % group == 0 ? marks_ : all;
    std::uint16_t& in_group = rows_[end_ / row];
    in_group = end_ % row == 0 ? static_cast<std::uint16_t>(marks_ - all) : in_group;
    befores_[end_ / 64] = static_cast<std::uint16_t>(marks_ - all - in_group);
  }
  static void take_one_behind(std::uint16_t* counts, std::uint32_t place) {
    for (std::uint32_t i = 0; i < fan; ++i) {
      counts[i] = static_cast<std::uint16_t>(counts[i] - (i > place ? 1 : 0));
    }
  }

  std::vector<std::uint32_t> groups_;
  std::vector<std::uint16_t> rows_;
  std::vector<std::uint16_t> befores_;
  std::vector<std::uint64_t> words_;
  std::uint32_t end_ = 0;
  std::uint32_t marks_ = 0;
};

/// Where each block's last access stands on the line, found by key: open addressing, linear probing
/// at half load at most. Nothing is ever removed.
class place_map {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit place_map(std::size_t accesses)
      : nodes_(std::bit_ceil(std::max(accesses / 8, std::size_t{1} << 10))) {}

  void prefetch(block_key key) const { __builtin_prefetch(&nodes_[home(key)]); }
  /// The place of a block, `none` for one that is new; it may be written.
  std::uint32_t& operator[](block_key key) {
    std::size_t at = home(key);
    while (nodes_[at].place != none && nodes_[at].key != key) {
      at = at + 1 == nodes_.size() ? 0 : at + 1;
    }
    nodes_[at].key = key;
    return nodes_[at].place;
  }
  std::size_t size() const { return size_; }
  /// One block more has a place; no reference from before is good any more.
  void count_new() {
    if (++size_ * 2 > nodes_.size()) {
      std::vector<node> old(nodes_.size() * 2, node{});
      old.swap(nodes_);
      for (const node& n : old) {
        if (n.place != none) {
          (*this)[n.key] = n.place;
        }
      }
    }
  }
  template <class Do>
  void for_each(Do action) {
    for (node& n : nodes_) {
      if (n.place != none) {
        action(n.place);
      }
    }
  }

 private:
  struct node {
    block_key key;
    std::uint32_t place = none;
  };
  std::size_t home(block_key key) const { return (key_hash{}(key) >> 32) * nodes_.size() >> 32; }

  std::vector<node> nodes_;
  std::size_t size_ = 0;
};

/// LRU's stack over all blocks of a trace, its positions counted from 0.
class lru_stack {
 public:
  static constexpr std::uint64_t never_seen = UINT64_MAX;

  explicit lru_stack(std::size_t accesses) : places_{accesses} {}

  void prefetch(block_key key) const { places_.prefetch(key); }
  std::uint64_t position(block_key key) {
    std::uint32_t place = places_[key];
    return place == place_map::none ? never_seen : marks_.behind(place);
  }
  /// Makes it the topmost; its position before.
  std::uint64_t touch(block_key key) {
    if (marks_.full()) {
      close_up();
    }
    std::uint32_t& place = places_[key];
    if (place == place_map::none) {
      place = marks_.append();
      places_.count_new();
      return never_seen;
    }
    std::uint64_t position = marks_.behind(place);
    marks_.clear(place);
    place = marks_.append();
    return position;
  }

 private:
  // The marks move together; the line is six times as long as there are blocks then, at least.
  void close_up() {
    std::size_t blocks = places_.size();
    mark_line closed{blocks * 6 > marks_.size() ? marks_.size() * 2 : marks_.size()};
    places_.for_each([&](std::uint32_t& place) {
      place = static_cast<std::uint32_t>(blocks) - 1 - marks_.behind(place);
    });
    while (closed.marks() < blocks) {
      closed.append();
    }
    marks_ = std::move(closed);
  }

  mark_line marks_{1};
  place_map places_;
};

}  // namespace

lru_curve::lru_curve(const access_columns& columns, replay_rule rule, bool front) {
  REFRAIN_ASSERT(columns.sizes.empty());
  double begin = thread_seconds();
  std::uint64_t count = columns.keys.size();
  lru_stack stack{count};
  constexpr std::uint64_t ahead = 12;
  if (rule == replay_rule::flat) {
    for (std::uint64_t i = 0; i < count; ++i) {
      stack.prefetch(columns.keys[std::min(i + ahead, count - 1)]);
      if (std::uint64_t position = stack.touch(columns.keys[i]);
          position != lru_stack::never_seen) {
        note(columns, i, position);
      }
    }
  }
  for (std::uint64_t r = 0; rule == replay_rule::prefix && r < columns.requests(); ++r) {
    std::uint64_t first = columns.starts[r];
    std::uint64_t last = columns.starts[r + 1];
    for (std::uint64_t i = first; i < last && i + ahead < count; ++i) {
      stack.prefetch(columns.keys[i + ahead]);
    }
    std::uint64_t deepest = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      std::uint64_t position = stack.position(columns.keys[i]);
      if (position == lru_stack::never_seen) {
        break;
      }
      deepest = std::max(deepest, position);
      note(columns, i, deepest);
    }
    for (std::uint64_t n = first; n < last; ++n) {
      stack.touch(columns.keys[front ? n : last - 1 - (n - first)]);
    }
  }
  whole_.requests = columns.requests();
  whole_.accesses = count;
  for (token_count tokens : columns.input_tokens) {
    whole_.total_tokens += static_cast<std::uint64_t>(tokens.get());
  }
  for (std::vector<std::uint64_t>* counts : {&hits_, &tokens_}) {
    std::partial_sum(counts->begin(), counts->end(), counts->begin());
  }
  whole_.seconds = thread_seconds() - begin;
}

void lru_curve::note(const access_columns& columns, std::uint64_t access, std::uint64_t position) {
  if (position >= hits_.size()) {
    hits_.resize(position + 1 + position / 2);
    tokens_.resize(columns.tokens.empty() ? 0 : hits_.size());
  }
  ++hits_[position];
  if (!columns.tokens.empty()) {
    tokens_[position] += columns.tokens[access];
  }
}

replay_result lru_curve::at(std::int64_t capacity) const {
  replay_result result = whole_;
  if (auto end = std::min(static_cast<std::size_t>(capacity), hits_.size()); end > 0) {
    result.hits = hits_[end - 1];
    result.hit_tokens = tokens_.empty() ? 0 : tokens_[end - 1];
  }
  result.missed_size = result.accesses - result.hits;
  return result;
}

}  // namespace refrain
