// The merge knows how many numbers there are, so it picks the neighbours of each quantile as they
// go by.
#include "analysis/distribution_builder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <queue>
#include <string>
#include <utility>

#include "traces/error.hpp"

namespace refrain {

namespace {

[[noreturn]] void fail() {
  throw run_error{std::string{"a temporary file for sorting: "} + std::strerror(errno)};
}

/// A sorted run in the file, read a piece at a time.
class run_reader {
 public:
  run_reader(std::FILE* file, std::size_t first, std::size_t count)
      : file_{file}, next_{first}, left_{count} {}

  /// False at the end.
  bool next(double& value) {
    if (at_ == piece_.size() && !refill()) {
      return false;
    }
    value = piece_[at_++];
    return true;
  }

 private:
  bool refill() {
    constexpr std::size_t piece_values = 1024;
    piece_.resize(std::min(left_, piece_values));
    at_ = 0;
    if (piece_.empty()) {
      return false;
    }
    auto offset = static_cast<off_t>(next_ * sizeof(double));
    if (fseeko(file_, offset, SEEK_SET) != 0 ||
        std::fread(piece_.data(), sizeof(double), piece_.size(), file_) != piece_.size()) {
      fail();
    }
    next_ += piece_.size();
    left_ -= piece_.size();
    return true;
  }

  std::FILE* file_;
  std::size_t next_;
  std::size_t left_;
  std::vector<double> piece_;
  std::size_t at_ = 0;
};

/// The q-quantile of ascending numbers that go by one after the other.
class passing_quantile {
 public:
  passing_quantile(double q, std::size_t count) {
    double at = q * static_cast<double>(count - 1);
    double whole = std::floor(at);
    share_ = at - whole;
    lower_at_ = static_cast<std::size_t>(whole);
  }

  void see(std::size_t i, double value) {
    lower_ = i == lower_at_ ? value : lower_;
    upper_ = i <= lower_at_ + 1 ? value : upper_;
  }
  double value() const { return between(lower_, upper_, share_); }

 private:
  std::size_t lower_at_;
  double share_;
  double lower_ = 0;
  double upper_ = 0;
};

}  // namespace

distribution_builder::distribution_builder(std::size_t run_values)
    : run_values_{run_values}, spilled_{nullptr, std::fclose} {}

void distribution_builder::add(double value) {
  if (std::isnan(value)) {
    return;
  }
  if (values_.size() == run_values_) {
    spill();
  }
  values_.push_back(value);
}

void distribution_builder::spill() {
  if (spilled_ == nullptr) {
    spilled_.reset(std::tmpfile());
    if (spilled_ == nullptr) {
      fail();
    }
  }
  std::ranges::sort(values_);
  if (std::fwrite(values_.data(), sizeof(double), values_.size(), spilled_.get()) !=
      values_.size()) {
    fail();
  }
  runs_.push_back(values_.size());
  values_.clear();
}

distribution distribution_builder::finish() {
  if (runs_.empty()) {
    return summarise(std::exchange(values_, {}));
  }
  spill();
  values_ = {};
  if (std::fflush(spilled_.get()) != 0) {
    fail();
  }
  distribution result = merge();
  runs_.clear();
  spilled_.reset();
  return result;
}

distribution distribution_builder::merge() {
  std::vector<run_reader> readers;
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      std::greater<>>
      heads;
  std::size_t count = 0;
  for (std::size_t length : runs_) {
    readers.emplace_back(spilled_.get(), count, length);
    count += length;
    double value = 0;
    if (readers.back().next(value)) {
      heads.emplace(value, readers.size() - 1);
    }
  }
  std::array<passing_quantile, 3> quantiles{
      passing_quantile{0.5, count}, passing_quantile{0.9, count}, passing_quantile{0.99, count}};
  exact_adder sum;
  for (std::size_t i = 0; !heads.empty(); ++i) {
    auto [value, run] = heads.top();
    heads.pop();
    sum.add(value);
    for (passing_quantile& q : quantiles) {
      q.see(i, value);
    }
    if (readers[run].next(value)) {
      heads.emplace(value, run);
    }
  }
  return {sum.total() / static_cast<double>(count), quantiles[0].value(), quantiles[1].value(),
          quantiles[2].value(), static_cast<std::int64_t>(count)};
}

}  // namespace refrain
