#include "analysis/request_totals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "traces/error.hpp"

namespace refrain {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void missing(std::string_view name) {
  throw run_error{"the requests table has no column " + std::string{name}};
}

const column& column_named(const table& rows, std::string_view name) {
  const column* found = rows.find(name);
  if (found == nullptr) {
    missing(name);
  }
  return *found;
}

const std::vector<double>* reals_or_none(const table& rows, std::string_view name) {
  const column* found = rows.find(name);
  return found == nullptr ? nullptr : &found->reals();
}

double per_gap(double ttft, double e2e, std::int64_t output_tokens) {
  auto gaps = static_cast<double>(output_tokens - 1);
  return gaps >= 1 ? (e2e - ttft) / gaps : nan;
}

}  // namespace

void measured_pairs::add(double simulated, double measured) {
  if (!std::isnan(simulated) && measured > 0) {
    simulated_.add(simulated);
    measured_.add(measured);
    errors_.add(std::abs(simulated - measured) / measured);
    ++count_;
  }
}

measured_row measured_pairs::row(std::string name) const {
  auto mean = [this](const exact_adder& sum) {
    return count_ == 0 ? nan : sum.total() / static_cast<double>(count_);
  };
  double a = mean(simulated_);
  double b = mean(measured_);
  return {std::move(name), a, b, a / b - 1, mean(errors_), count_};
}

void request_totals::add(const table& rows) {
  const auto& status = column_named(rows, "status").integers();
  refused_ += std::ranges::count(status, 1);
  done_ += std::ranges::count(status, 0);
  add_counts(rows, status);
  add_times(rows, status);
  add_measured(rows, status);
}

void request_totals::add_counts(const table& rows, const std::vector<std::int64_t>& status) {
  for (const column& each : rows.columns) {
    if (const auto* values = std::get_if<std::vector<std::int64_t>>(&each.values)) {
      std::int64_t& total = sums_[each.name];
      for (std::size_t i = 0; i < status.size(); ++i) {
        total += status[i] == 0 ? (*values)[i] : 0;
      }
    }
  }
}

void request_totals::add_times(const table& rows, const std::vector<std::int64_t>& status) {
  const auto& ttft = column_named(rows, "ttft_s").reals();
  const auto& tpot = column_named(rows, "tpot_s").reals();
  const auto& e2e = column_named(rows, "e2e_s").reals();
  const auto& queue = column_named(rows, "queue_s").reals();
  const auto& finish = column_named(rows, "finish_s").reals();
  const auto& output = column_named(rows, "output_tokens").integers();
  for (std::size_t i = 0; i < status.size(); ++i) {
    if (status[i] == 0) {
      ttft_.values.add(ttft[i]);
      tpot_.values.add(output[i] < 2 ? nan : tpot[i]);
      e2e_.values.add(e2e[i]);
      queue_.values.add(queue[i]);
      last_finish_ = std::max(last_finish_, finish[i]);
    }
  }
}

void request_totals::add_measured(const table& rows, const std::vector<std::int64_t>& status) {
  const auto* ttft = reals_or_none(rows, "measured_ttft_s");
  const auto* e2e = reals_or_none(rows, "measured_e2e_s");
  has_measured_ttft_ = ttft != nullptr;
  has_measured_e2e_ = e2e != nullptr;
  if (ttft == nullptr && e2e == nullptr) {
    return;
  }
  const auto& our_ttft = rows.at("ttft_s").reals();
  const auto& our_tpot = rows.at("tpot_s").reals();
  const auto& our_e2e = rows.at("e2e_s").reals();
  const auto& output = rows.at("output_tokens").integers();
  for (std::size_t i = 0; i < status.size(); ++i) {
    if (status[i] != 0) {
      continue;
    }
    if (ttft != nullptr) {
      measured_ttft_.add(our_ttft[i], (*ttft)[i]);
    }
    if (e2e != nullptr) {
      measured_e2e_.add(our_e2e[i], (*e2e)[i]);
    }
    if (ttft != nullptr && e2e != nullptr) {
      measured_tpot_.add(output[i] < 2 ? nan : our_tpot[i],
                         per_gap((*ttft)[i], (*e2e)[i], output[i]));
    }
  }
}

void request_totals::finish() {
  for (times* each : {&ttft_, &tpot_, &e2e_, &queue_}) {
    each->whole = each->values.finish();
  }
}

std::int64_t request_totals::sum(std::string_view name) const {
  auto found = sums_.find(name);
  if (found == sums_.end()) {
    missing(name);
  }
  return found->second;
}

std::vector<measured_row> request_totals::measured() const {
  std::vector<measured_row> rows;
  if (has_measured_ttft_) {
    rows.push_back(measured_ttft_.row("ttft_s"));
  }
  if (has_measured_ttft_ && has_measured_e2e_) {
    rows.push_back(measured_tpot_.row("tpot_s"));
  }
  if (has_measured_e2e_) {
    rows.push_back(measured_e2e_.row("e2e_s"));
  }
  return rows;
}

}  // namespace refrain
