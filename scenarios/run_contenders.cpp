// The calling thread watches: it draws progress, and passes a signal on to the contenders.
#include "scenarios/run_contenders.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "actors/contender.hpp"
#include "scenarios/stop_on_signal.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

using clock = std::chrono::steady_clock;

/// One line on a terminal, redrawn in place; nothing elsewhere.
class progress_line {
 public:
  explicit progress_line(std::uint64_t total)
      : is_shown_{isatty(STDERR_FILENO) != 0}, total_{total}, begin_{clock::now()} {}
  ~progress_line() {
    if (is_shown_) {
      std::fputs("\r\x1b[K", stderr);
      std::fflush(stderr);
    }
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void draw(std::uint64_t done) const {
    if (!is_shown_) {
      return;
    }
    double seconds = std::chrono::duration<double>(clock::now() - begin_).count();
    double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
    std::string left = done == 0 ? "?" : print_duration(static_cast<double>(total_ - done) / rate);
    double percent =
        100 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total_, 1));
    std::string line = fmt::format("\r{:5.1f} %  {} requests/s  {} left\x1b[K", percent,
                                   print_count(static_cast<std::int64_t>(rate)), left);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
  std::uint64_t total_;
  clock::time_point begin_;
};

/// The contenders, taken in order by whichever thread is free.
class crew {
 public:
  crew(const run_plan& plan, results_writer& results, std::vector<request_totals>& gathered)
      : plan_{plan}, results_{results}, gathered_{gathered}, failures_(plan.contenders.size()) {
    for (std::size_t i = 0; i < plan.contenders.size(); ++i) {
      controls_.emplace_back().stop = &stop_;
    }
  }

  void run(std::size_t jobs) {
    std::vector<std::jthread> threads;
    working_ = std::min(jobs, plan_.contenders.size());
    for (std::size_t i = 0; i < working_; ++i) {
      threads.emplace_back([this] { work(); });
    }
    watch();
    threads.clear();
    report();
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < plan_.contenders.size() && !stop_; i = next_++) {
      try {
        contender_writer writer = results_.contender(i);
        writer.watch("requests", [this, i](const table& rows) { gathered_[i].add(rows); });
        run_contender(plan_.workload, plan_.contenders[i], writer, controls_[i]);
        writer.close();
        gathered_[i].finish();
      } catch (...) {
        failures_[i] = std::current_exception();
        stop_ = true;
      }
    }
    std::lock_guard lock{mutex_};
    --working_;
    changed_.notify_all();
  }

  void watch() {
    progress_line line{plan_.workload.requests * plan_.contenders.size()};
    std::unique_lock lock{mutex_};
    while (
        !changed_.wait_for(lock, std::chrono::milliseconds{100}, [&] { return working_ == 0; })) {
      if (stop_on_signal::asked()) {
        stop_ = true;
      }
      std::uint64_t done = 0;
      for (const contender_control& each : controls_) {
        done += each.finished.load(std::memory_order_relaxed);
      }
      line.draw(done);
    }
  }

  /// A contender that was stopped because another failed is not the failure.
  void report() const {
    if (stop_on_signal::asked()) {
      throw interrupted{};
    }
    std::exception_ptr stopped;
    for (const std::exception_ptr& failure : failures_) {
      if (failure == nullptr) {
        continue;
      }
      try {
        std::rethrow_exception(failure);
      } catch (const interrupted&) {
        stopped = failure;
      }
    }
    if (stopped != nullptr) {
      std::rethrow_exception(stopped);
    }
  }

  const run_plan& plan_;
  results_writer& results_;
  std::vector<request_totals>& gathered_;
  std::vector<std::exception_ptr> failures_;
  std::deque<contender_control> controls_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t working_ = 0;
};

}  // namespace

std::vector<request_totals> run_contenders(const run_plan& plan, results_writer& results,
                                           std::size_t jobs) {
  // Two that measure at once would measure each other.
  bool measures = std::ranges::any_of(plan.contenders, [](const contender_plan& each) {
    return each.retrieval.measured || each.execution.weights != nullptr ||
           each.sample.weights != nullptr;
  });
  if (jobs == 0) {
    jobs = std::max(1u, std::thread::hardware_concurrency());
  }
  if (measures) {
    jobs = 1;
  }
  std::vector<request_totals> gathered(plan.contenders.size());
  crew{plan, results, gathered}.run(jobs);
  return gathered;
}

}  // namespace refrain
