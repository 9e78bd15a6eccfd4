#include "policies/lru_curve.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "policies/key_map.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// Marks on a line that grows to the right; counts those to the right of a place. Beside the marks
/// stand sums over 128 of them, and over 16 sums of the level below, four levels up.
class mark_line {
 public:
  explicit mark_line(std::size_t places)
      : words_((places / top_span + 1) * (top_span / 64)),
        pairs_(words_.size() / 2),
        sums_{std::vector<std::uint32_t>(pairs_.size() / fan),
              std::vector<std::uint32_t>(pairs_.size() / fan / fan),
              std::vector<std::uint32_t>(pairs_.size() / fan / fan / fan)} {}

  std::size_t size() const { return words_.size() * 64; }

  void set(std::size_t place) {
    words_[place / 64] |= std::uint64_t{1} << place % 64;
    add(place / 128, 1);
  }
  void clear(std::size_t place) {
    words_[place / 64] &= ~(std::uint64_t{1} << place % 64);
    add(place / 128, -1);
  }

  /// Marks behind `place`.
  std::uint64_t behind(std::size_t place) const {
    std::size_t word = place / 64;
    std::uint64_t odd = word % 2 == 0 ? words_[word + 1] : 0;
    int count = std::popcount(words_[word] >> place % 64 >> 1) + std::popcount(odd);
    std::size_t at = place / 128;
    auto sum = static_cast<std::uint32_t>(count) + later(pairs_.data(), at);
    for (const std::vector<std::uint32_t>& level : sums_) {
      at /= fan;
      sum += later(level.data(), at);
    }
    for (++(at /= fan); at < sums_[2].size() / fan; ++at) {
      for (std::size_t i = 0; i < fan; ++i) {
        sum += sums_[2][at * fan + i];
      }
    }
    return sum;
  }

 private:
  static constexpr std::size_t fan = 16;
  static constexpr std::size_t top_span =
      128 * fan * fan * fan * fan;  // so that no level ends early

  void add(std::size_t pair, int by) {
    pairs_[pair] = static_cast<std::uint8_t>(pairs_[pair] + by);
    for (std::vector<std::uint32_t>& level : sums_) {
      pair /= fan;
      level[pair] += static_cast<std::uint32_t>(by);
    }
  }
  /// What stands behind `at` among its fan: all of them are looked at, without a branch.
  template <class Count>
  static std::uint32_t later(const Count* counts, std::size_t at) {
    const Count* begin = counts + at / fan * fan;
    auto place = static_cast<std::uint32_t>(at % fan);
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < fan; ++i) {
      sum += i > place ? begin[i] : 0u;
    }
    return sum;
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint8_t> pairs_;
  std::vector<std::uint32_t> sums_[3];
};

/// Where each block's last access stands on the line, found by key: open addressing, linear probing
/// at half load at most. Nothing is ever removed.
class place_map {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

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

  std::vector<node> nodes_ = std::vector<node>(1 << 13);
  std::size_t size_ = 0;
};

/// LRU's stack over all blocks of a trace, its positions counted from 0.
class lru_stack {
 public:
  static constexpr std::uint64_t never_seen = UINT64_MAX;

  void prefetch(block_key key) const { places_.prefetch(key); }
  std::uint64_t position(block_key key) {
    std::uint32_t place = places_[key];
    return place == place_map::none ? never_seen : marks_.behind(place);
  }
  /// Makes it the topmost.
  void touch(block_key key) {
    if (end_ == marks_.size()) {
      close_up();
    }
    std::uint32_t& place = places_[key];
    bool is_new = place == place_map::none;
    if (!is_new) {
      marks_.clear(place);
    }
    place = static_cast<std::uint32_t>(end_);
    marks_.set(end_++);
    if (is_new) {
      places_.count_new();
    }
  }

 private:
  // The marks move together; the line is twice as long as there are blocks then, at least.
  void close_up() {
    mark_line closed{places_.size() * 2 > marks_.size() ? marks_.size() * 2 - 1
                                                        : marks_.size() - 1};
    end_ = places_.size();
    std::size_t before = end_ - 1;
    places_.for_each([&](std::uint32_t& place) {
      place = static_cast<std::uint32_t>(before - marks_.behind(place));
      closed.set(place);
    });
    marks_ = std::move(closed);
  }

  mark_line marks_{1};
  std::size_t end_ = 0;
  place_map places_;
};

}  // namespace

lru_curve::lru_curve(const access_columns& columns, replay_rule rule, bool front) {
  REFRAIN_ASSERT(columns.sizes.empty());
  double begin = thread_seconds();
  lru_stack stack;
  std::uint64_t count = columns.keys.size();
  bool flat = rule == replay_rule::flat;
  std::uint64_t requests = flat ? count : columns.requests();
  for (std::uint64_t r = 0; r < requests; ++r) {
    std::uint64_t first = flat ? r : columns.starts[r];
    std::uint64_t last = flat ? r + 1 : columns.starts[r + 1];
    constexpr std::uint64_t ahead = 12;
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
