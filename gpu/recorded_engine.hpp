// Iterations that were timed in an earlier run, again: what a run that computed took is read back,
// and the same scenario gives the same results to the nanosecond.
#pragma once

#include <span>
#include <vector>

#include "gpu/engine.hpp"

namespace refrain {

/// One iteration that was timed, with enough of its batch to tell it from another.
struct timed_iteration {
  std::int64_t prefill_tokens = 0;   ///< new tokens of all chunks
  std::int64_t prefill_context = 0;  ///< cached tokens before them
  std::int64_t decodes = 0;
  std::int64_t decode_context = 0;
  sim_time took{0};

  friend bool operator==(const timed_iteration&, const timed_iteration&) = default;
};

/// The batch with the time that it took.
timed_iteration timed(const batch& work, sim_time took);

/// Plays the iterations of one executor, in order.
class recorded_engine final : public engine {
 public:
  explicit recorded_engine(std::span<const timed_iteration> iterations) : iterations_{iterations} {}

  /// Throws run_error where the batch is not the one that was timed, or there are no more.
  sim_time iteration(const batch& work) override;
  decode_line decode(std::int64_t sequences) override;
  bool has_lines() const override { return false; }

 private:
  std::span<const timed_iteration> iterations_;
  std::size_t next_ = 0;
};

}  // namespace refrain
