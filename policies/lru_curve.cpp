#include "policies/lru_curve.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "policies/key_map.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// Marks on a line that grows to the right, and how many stand to the right of a place. For each 64
/// places the marks before them within 1,024 are kept, for each 1,024 those within 32,768, and for
/// each 32,768 all before them: to count is four loads, to mark the end costs next to nothing, and
/// to clear costs a step for every 32,768 places further right, which are few, since most blocks
/// that come again come soon.
class mark_line {
 public:
  explicit mark_line(std::size_t places)
      : groups_((places + group - 1) / group),
        rows_(groups_.size() * rows_a_group),
        befores_(rows_.size() * words_a_row),
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
    take_one_behind<words_a_row>(&befores_[place / row * words_a_row], place / 64 % words_a_row);
    take_one_behind<rows_a_group>(&rows_[place / group * rows_a_group], place / row % rows_a_group);
    for (std::size_t i = place / group + 1; i <= (end_ - 1) / group; ++i) {
      --groups_[i];
    }
    --marks_;
  }

  /// Starts loading what the two others read of a place.
  void prefetch(std::uint32_t place) const {
    __builtin_prefetch(&words_[place / 64]);
    __builtin_prefetch(&befores_[place / 64]);
  }

  /// Marks behind `place`, which is marked itself.
  std::uint32_t behind(std::uint32_t place) const {
    std::uint64_t upto = words_[place / 64] << (63 - place % 64);
    return marks_ - groups_[place / group] - rows_[place / row] - befores_[place / 64] -
           ones_in(upto);
  }

 private:
  static constexpr std::uint32_t words_a_row = 16;
  static constexpr std::uint32_t rows_a_group = 32;
  static constexpr std::uint32_t row = 64 * words_a_row;
  static constexpr std::uint32_t group = row * rows_a_group;

  /// What begins at the end of the line begins with the marks before it.
  void open() {
    std::uint32_t& all = groups_[end_ / group];
    all = end_ % group == 0 ? marks_ : all;
    std::uint16_t& in_group = rows_[end_ / row];
    in_group = end_ % row == 0 ? static_cast<std::uint16_t>(marks_ - all) : in_group;
    befores_[end_ / 64] = static_cast<std::uint16_t>(marks_ - all - in_group);
  }
  /// std::popcount, which is a call where the compiler may not count on an instruction for it.
  static std::uint32_t ones_in(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    return static_cast<std::uint32_t>(
        ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
  }
  template <std::uint32_t count>
  static void take_one_behind(std::uint16_t* counts, std::uint32_t place) {
    const std::uint16_t* ones = &steps[widest - 1 - place];
    for (std::uint32_t i = 0; i < count; ++i) {
      counts[i] = static_cast<std::uint16_t>(counts[i] - ones[i]);
    }
  }

  // Zeros, then ones: from widest - 1 - place on, entry i is 1 where i > place.
  static constexpr std::uint32_t widest = std::max(words_a_row, rows_a_group);
  static constexpr std::array<std::uint16_t, 2 * widest> steps = [] {
    std::array<std::uint16_t, 2 * widest> all{};
    std::fill(all.begin() + widest, all.end(), std::uint16_t{1});
    return all;
  }();

  std::vector<std::uint32_t> groups_;
  std::vector<std::uint16_t> rows_;
  std::vector<std::uint16_t> befores_;
  std::vector<std::uint64_t> words_;
  std::uint32_t end_ = 0;
  std::uint32_t marks_ = 0;
};

}  // namespace

/// LRU's stack over all blocks of a trace, its positions counted from 0. Blocks have numbers, given
/// once, so that whoever knows what comes can have it loaded step by step.
class lru_stack {
 public:
  static constexpr std::uint64_t never_seen = UINT64_MAX;

  explicit lru_stack(std::size_t accesses) : numbers_{accesses / 8 + 1024} {}

  /// Starts loading what number_of(key) will read.
  void prefetch(block_key key) const { numbers_.prefetch_line(numbers_.home(key)); }
  /// The number of a block; the next one where it has none.
  std::uint32_t number_of(block_key key) {
    slot_id known = numbers_.find(key);
    if (known == no_slot) {
      known = slot_id{static_cast<std::uint32_t>(places_.size())};
      numbers_.insert(key, known);
      places_.push_back(none);
    }
    return known.get();
  }
  /// Starts loading what prefetch_marks(number) will read.
  void prefetch_place(std::uint32_t number) const { __builtin_prefetch(&places_[number]); }
  /// Starts loading what touch(number) will read.
  void prefetch_marks(std::uint32_t number) const {
    if (places_[number] != none) {
      marks_.prefetch(places_[number]);
    }
  }

  std::uint64_t position(std::uint32_t number) const {
    return places_[number] == none ? never_seen : marks_.behind(places_[number]);
  }
  /// Makes it the topmost; its position before.
  std::uint64_t touch(std::uint32_t number) {
    if (marks_.full()) {
      close_up();
    }
    std::uint64_t before = never_seen;
    if (std::uint32_t place = places_[number]; place != none) {
      before = marks_.behind(place);
      marks_.clear(place);
    }
    places_[number] = marks_.append();
    return before;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The marks move together; the line is six times as long as there are blocks then, at least.
  void close_up() {
    std::uint32_t blocks = marks_.marks();
    bool tight = std::size_t{blocks} * 6 > marks_.size();
    mark_line closed{tight ? marks_.size() * 2 : marks_.size()};
    for (std::uint32_t& place : places_) {
      place = place == none ? none : blocks - 1 - marks_.behind(place);
    }
    while (closed.marks() < blocks) {
      closed.append();
    }
    marks_ = std::move(closed);
  }

  mark_line marks_{1};
  key_map numbers_;
  std::vector<std::uint32_t> places_;  // by number: of its last access on the line
};

inline void lru_curve::add(const noted& one) {
  counts_[one.position] += one.hits;
  if (!tokens_.empty()) {
    tokens_[one.position] += one.tokens;
  }
}

// A count is loaded when it is known to be needed and added to later: there are as many as blocks.
// Inlined, since it is called for every hit.
[[gnu::always_inline]] inline void lru_curve::note(const access_columns& columns,
                                                   std::uint64_t access, std::uint64_t position) {
  if (position >= counts_.size()) {
    counts_.resize(position + 1 + position / 2);
    tokens_.resize(columns.tokens.empty() ? 0 : counts_.size());
  }
  __builtin_prefetch(&counts_[position], 1);
  noted& last = noted_[noted_count_++ % noted_.size()];
  add(last);
  last = {position, columns.tokens.empty() ? 0 : columns.tokens[access], 1};
}

lru_curve::lru_curve(const access_columns& columns, replay_rule rule, bool front) {
  REFRAIN_ASSERT(columns.sizes.empty() && columns.keys.size() <= UINT32_MAX);
  double begin = thread_seconds();
  std::uint64_t count = columns.keys.size();
  lru_stack stack{count};
  if (rule == replay_rule::flat) {
    pass_flat(columns, stack);
  } else {
    pass_prefix(columns, stack, front);
  }
  for (const noted& one : noted_) {
    if (one.hits > 0) {
      add(one);
    }
  }
  whole_.requests = columns.requests();
  whole_.accesses = count;
  for (token_count tokens : columns.input_tokens) {
    whole_.total_tokens += static_cast<std::uint64_t>(tokens.get());
  }
  hits_.assign(counts_.begin(), counts_.end());
  counts_ = {};
  for (std::vector<std::uint64_t>* counts : {&hits_, &tokens_}) {
    std::partial_sum(counts->begin(), counts->end(), counts->begin());
  }
  whole_.seconds = thread_seconds() - begin;
}

void lru_curve::pass_flat(const access_columns& columns, lru_stack& stack) {
  constexpr std::uint64_t line_ahead = 24, number_ahead = 14, marks_ahead = 6;
  std::uint64_t count = columns.keys.size();
  std::uint32_t numbers[32] = {};
  auto find_number = [&](std::uint64_t i) {
    if (i < count) {
      numbers[i % 32] = stack.number_of(columns.keys[i]);
      stack.prefetch_place(numbers[i % 32]);
    }
  };
  for (std::uint64_t i = 0; i < number_ahead; ++i) {
    find_number(i);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    stack.prefetch(columns.keys[std::min(i + line_ahead, count - 1)]);
    find_number(i + number_ahead);
    stack.prefetch_marks(numbers[std::min(i + marks_ahead, count - 1) % 32]);
    if (std::uint64_t position = stack.touch(numbers[i % 32]); position != lru_stack::never_seen) {
      note(columns, i, position);
    }
  }
}

void lru_curve::pass_prefix(const access_columns& columns, lru_stack& stack, bool front) {
  constexpr std::uint64_t ahead = 12;
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t r = 0; r < columns.requests(); ++r) {
    std::uint64_t first = columns.starts[r];
    std::uint64_t blocks = columns.starts[r + 1] - first;
    numbers.resize(blocks);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      stack.prefetch(columns.keys[first + std::min(i + ahead, blocks - 1)]);
      numbers[i] = stack.number_of(columns.keys[first + i]);
      stack.prefetch_place(numbers[i]);
    }
    std::uint64_t deepest = 0;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      std::uint64_t position = stack.position(numbers[i]);
      if (position == lru_stack::never_seen) {
        break;
      }
      deepest = std::max(deepest, position);
      note(columns, first + i, deepest);
    }
    for (std::uint64_t i = 0; i < blocks; ++i) {
      stack.touch(numbers[front ? i : blocks - 1 - i]);
    }
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
