#include "policies/lru_curve.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "policies/key_map.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// Marks on a line that grows to the right; counts those to the right of a place.
class mark_line {
 public:
  explicit mark_line(std::size_t places)
      : words_(places / 64 + 1),
        groups_(words_.size() / group + 1),
        sums_(groups_.size() / sum + 1) {}

  std::size_t size() const { return words_.size() * 64; }

  void set(std::size_t place) {
    words_[place / 64] |= std::uint64_t{1} << place % 64;
    ++groups_[place / 64 / group];
    ++sums_[place / 64 / group / sum];
  }
  void clear(std::size_t place) {
    words_[place / 64] &= ~(std::uint64_t{1} << place % 64);
    --groups_[place / 64 / group];
    --sums_[place / 64 / group / sum];
  }
  bool has(std::size_t place) const { return (words_[place / 64] >> place % 64 & 1) != 0; }

  /// Marks behind `place` and before `end`, the place behind the last mark.
  std::uint64_t behind(std::size_t place, std::size_t end) const {
    std::size_t word = place / 64;
    std::size_t in_group = word / group;
    std::size_t in_sum = in_group / sum;
    std::uint64_t count =
        static_cast<std::uint64_t>(std::popcount(words_[word] >> place % 64 >> 1));
    std::size_t stop = std::min((in_group + 1) * group, words_.size());
    for (std::size_t w = word + 1; w < stop; ++w) {
      count += static_cast<std::uint64_t>(std::popcount(words_[w]));
    }
    stop = std::min((in_sum + 1) * sum, groups_.size());
    std::uint32_t few = 0;
    for (std::size_t g = in_group + 1; g < stop; ++g) {
      few += groups_[g];
    }
    stop = end / 64 / group / sum + 1;
    for (std::size_t s = in_sum + 1; s < std::min(stop, sums_.size()); ++s) {
      few += sums_[s];
    }
    return count + few;
  }

  void wipe() {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(groups_.begin(), groups_.end(), 0);
    std::fill(sums_.begin(), sums_.end(), 0);
  }

 private:
  static constexpr std::size_t group = 4;  // words of a group
  static constexpr std::size_t sum = 64;   // groups of a sum

  std::vector<std::uint64_t> words_;
  std::vector<std::uint16_t> groups_;
  std::vector<std::uint32_t> sums_;
};

/// LRU's stack over all blocks of a trace, its positions counted from 0.
class lru_stack {
 public:
  lru_stack() : marks_{1 << 14}, numbers_{1 << 12} {}

  void prefetch(block_key key) const { numbers_.prefetch(key); }
  /// The number of a block; UINT32_MAX for one that never came.
  std::uint32_t number_of(block_key key) const { return numbers_.find(key); }
  std::uint64_t position(std::uint32_t number) const {
    return marks_.behind(places_[number], end_);
  }
  /// Makes it the topmost; `number` is what number_of said before the request.
  void touch(block_key key, std::uint32_t number) {
    if (number == no_slot) {
      number = numbers_.find(key);  // a key may come twice in a request
    }
    if (end_ == marks_.size()) {
      close_up();
    }
    if (number == no_slot) {
      number = static_cast<std::uint32_t>(places_.size());
      numbers_.insert(key, slot_id{number});
      places_.push_back(0);
    } else {
      marks_.clear(places_[number]);
    }
    places_[number] = static_cast<std::uint32_t>(end_);
    marks_.set(end_++);
  }

 private:
  // The marks move together; the line is twice as long as there are blocks then, at least.
  void close_up() {
    std::vector<std::uint32_t> order(marks_.size(), UINT32_MAX);
    for (std::uint32_t n = 0; n < places_.size(); ++n) {
      order[places_[n]] = n;
    }
    if (places_.size() * 2 > marks_.size()) {
      marks_ = mark_line{marks_.size() * 2};
    } else {
      marks_.wipe();
    }
    end_ = 0;
    for (std::uint32_t n : order) {
      if (n != UINT32_MAX) {
        places_[n] = static_cast<std::uint32_t>(end_);
        marks_.set(end_++);
      }
    }
  }

  mark_line marks_;
  std::size_t end_ = 0;
  key_map numbers_;
  std::vector<std::uint32_t> places_;  // of each block's last access on the line
};

}  // namespace

lru_curve::lru_curve(const access_columns& columns, replay_rule rule, bool front) {
  REFRAIN_ASSERT(columns.sizes.empty());
  double begin = thread_seconds();
  lru_stack stack;
  std::vector<std::uint32_t> numbers;  // of the request's blocks
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
    numbers.clear();
    for (std::uint64_t i = first; i < last; ++i) {
      numbers.push_back(stack.number_of(columns.keys[i]));
    }
    std::uint64_t deepest = 0;
    for (std::uint64_t i = first; i < last && numbers[i - first] != no_slot; ++i) {
      deepest = std::max(deepest, stack.position(numbers[i - first]));
      note(columns, i, deepest);
    }
    for (std::uint64_t n = 0; n < numbers.size(); ++n) {
      std::uint64_t at = front ? n : numbers.size() - 1 - n;
      stack.touch(columns.keys[first + at], numbers[at]);
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
