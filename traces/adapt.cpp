// Spread follows from bucketed clocks: Mooncake's conversation trace has 1,180 distinct times in an
// hour, 3 s apart. Only one group of equal times is held in memory. Row order is kept, so within
// the spread an arrival may lie before that of an earlier row; info().disorder says how far.
#include "traces/adapt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "traces/random.hpp"

namespace refrain {

namespace {

class adaptor : public source {
 public:
  explicit adaptor(std::unique_ptr<source> inner)
      : inner_{std::move(inner)}, info_{inner_->info()} {}

  const trace_info& info() const final { return info_; }
  const row_counts& counts() const final { return inner_->counts(); }

 protected:
  std::unique_ptr<source> inner_;
  trace_info info_;
};

using session_turns = std::vector<std::uint64_t>;

/// How many of the first `limit` rows belong to each session.
session_turns count_turns(source& rows, std::uint64_t limit) {
  session_turns turns;
  request row;
  for (std::uint64_t i = 0; i < limit && rows.next(row); ++i) {
    turns.resize(std::max<std::size_t>(turns.size(), row.session + 1));
    ++turns[row.session];
  }
  return turns;
}

class first_rows final : public adaptor {
 public:
  first_rows(std::unique_ptr<source> inner, std::uint64_t limit, session_turns turns)
      : adaptor{std::move(inner)}, left_{limit}, turns_{std::move(turns)} {}

  bool next(request& out) override {
    if (left_ == 0 || !inner_->next(out)) {
      return false;
    }
    --left_;
    if (info_.has_sessions) {
      out.last_turn = --turns_.at(out.session) == 0;
      out.answer = out.last_turn ? content_id{} : out.answer;
    }
    return true;
  }

 private:
  std::uint64_t left_;
  session_turns turns_;  // still to come
};

class laid_out final : public adaptor {
 public:
  laid_out(std::unique_ptr<source> inner, const prompt_order& order)
      : adaptor{std::move(inner)}, order_{order} {}

  bool next(request& out) override {
    if (!inner_->next(out)) {
      return false;
    }
    std::ranges::stable_sort(out.segments, {}, [this](const segment& piece) {
      return std::ranges::find(order_, part_of(piece)) - order_.begin();
    });
    return true;
  }

 private:
  static prompt_part part_of(const segment& piece) {
    bool is_past =
        piece.past || piece.kind == segment_kind::history || piece.kind == segment_kind::answer;
    return piece.kind == segment_kind::system     ? prompt_part::system
           : is_past                              ? prompt_part::history
           : piece.kind == segment_kind::question ? prompt_part::question
                                                  : prompt_part::documents;
  }

  prompt_order order_;
};

class fixed_output final : public adaptor {
 public:
  fixed_output(std::unique_ptr<source> inner, token_count output_tokens)
      : adaptor{std::move(inner)}, output_tokens_{output_tokens} {
    info_.has_measured = false;
  }

  bool next(request& out) override {
    if (!inner_->next(out)) {
      return false;
    }
    out.output_tokens = output_tokens_;
    out.measured.reset();
    return true;
  }

 private:
  token_count output_tokens_;
};

class spread_arrivals final : public adaptor {
 public:
  spread_arrivals(std::unique_ptr<source> inner, sim_time spread, std::uint64_t seed)
      : adaptor{std::move(inner)}, spread_{spread}, random_{seed, "arrival spread"} {
    info_.disorder = spread;
  }

  bool next(request& out) override {
    if (at_ == size_ && !read_group()) {
      return false;
    }
    std::swap(out, group_[at_++]);
    return true;
  }

 private:
  /// A later turn that waits for a think time, or one without a time of its own.
  bool is_untimed(const request& row) const {
    return info_.has_sessions && row.turn > 0 &&
           (row.delay > sim_time{0} || row.arrival < group_time_);
  }

  /// Reads rows up to the first of another time, which waits for the next group. The rows' vectors
  /// go round between the group and the caller and keep their room.
  bool read_group() {
    at_ = size_ = 0;
    if (has_waiting_) {
      std::swap(slot(), waiting_);
      size_ = 1;
      has_waiting_ = false;
      group_time_ = std::max(group_time_, group_[0].arrival);
    }
    while (!inner_at_end_) {
      if (!inner_->next(slot())) {
        inner_at_end_ = true;
        break;
      }
      request& row = group_[size_];
      if (size_ == 0) {
        group_time_ = std::max(group_time_, row.arrival);
      } else if (row.arrival != group_time_ && !is_untimed(row)) {
        std::swap(row, waiting_);
        has_waiting_ = true;
        break;
      }
      ++size_;
    }
    draw();
    return size_ > 0;
  }

  request& slot() {
    if (group_.size() == size_) {
      group_.emplace_back();
    }
    return group_[size_];
  }

  void draw() {
    if (size_ > 0 && group_time_ > sim_time::max() - spread_) {
      throw input_error{"workload.spread", "makes an arrival later than 285 years"};
    }
    draws_.clear();
    for (std::size_t i = 0; i < size_; ++i) {
      if (!is_untimed(group_[i])) {
        auto offset = random_.below(static_cast<std::uint64_t>(spread_.count()));
        draws_.push_back(group_time_ + sim_time{static_cast<std::int64_t>(offset)});
      }
    }
    std::sort(draws_.begin(), draws_.end());
    auto drawn = draws_.begin();
    for (std::size_t i = 0; i < size_; ++i) {
      if (!is_untimed(group_[i])) {
        group_[i].arrival = *drawn++;
      }
    }
  }

  sim_time spread_;
  random_stream random_;
  std::vector<request> group_;
  request waiting_;
  std::vector<sim_time> draws_;
  std::size_t at_ = 0, size_ = 0;
  sim_time group_time_{0};
  bool has_waiting_ = false, inner_at_end_ = false;
};

class faster_time final : public adaptor {
 public:
  faster_time(std::unique_ptr<source> inner, double speed)
      : adaptor{std::move(inner)}, speed_{speed} {
    info_.disorder = scaled(info_.disorder);
  }

  bool next(request& out) override {
    if (!inner_->next(out)) {
      return false;
    }
    out.arrival = scaled(out.arrival);
    out.delay = scaled(out.delay);
    return true;
  }

 private:
  sim_time scaled(sim_time time) const {
    double ns = static_cast<double>(time.count()) / speed_;
    if (ns > 9e18) {
      throw input_error{"workload.speed", "makes an arrival later than 285 years"};
    }
    return sim_time{std::llround(ns)};
  }

  double speed_;
};

}  // namespace

prompt_order parse_layout(std::string_view text) {
  constexpr std::string_view names[] = {"system", "history", "documents", "question"};
  prompt_order order;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    auto part = static_cast<prompt_part>(std::ranges::find(names, word) - names);
    if (word != "" && std::ranges::find(names, word) == std::end(names)) {
      throw input_error{"workload.layout", unknown_name("part", std::string{word}, names)};
    }
    if (word.empty() || std::ranges::find(order, part) != order.end()) {
      order.clear();
      break;
    }
    order.push_back(part);
  }
  if (order.size() != std::size(names)) {
    throw input_error{"workload.layout",
                      "must name system, history, documents and question once each, in the order "
                      "of the prompt, such as \"system, history, documents, question\""};
  }
  return order;
}

std::unique_ptr<source> adapt(const source_opener& open, const adaptation& changes) {
  if (!(changes.speed > 0) || !std::isfinite(changes.speed)) {
    throw input_error{"workload.speed", "must be a number above 0"};
  }
  if (changes.spread < sim_time{0}) {
    throw input_error{"workload.spread", "must not be negative"};
  }
  if (changes.output_tokens < 0) {
    throw input_error{"workload.output_tokens", "must not be negative"};
  }
  std::unique_ptr<source> rows = open();
  if (changes.limit > 0) {
    session_turns turns;
    if (rows->info().has_sessions) {
      turns = count_turns(*open(), changes.limit);
    }
    rows = std::make_unique<first_rows>(std::move(rows), changes.limit, std::move(turns));
  }
  if (!changes.layout.empty()) {
    rows = std::make_unique<laid_out>(std::move(rows), changes.layout);
  }
  if (changes.output_tokens > 0) {
    rows = std::make_unique<fixed_output>(std::move(rows), changes.output_tokens);
  }
  if (changes.spread > sim_time{0}) {
    rows = std::make_unique<spread_arrivals>(std::move(rows), changes.spread, changes.seed);
  }
  if (changes.speed != 1) {
    rows = std::make_unique<faster_time>(std::move(rows), changes.speed);
  }
  return rows;
}

}  // namespace refrain
