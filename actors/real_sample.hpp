// The sample of a run: requests that are computed for real once the simulation is over, each as it
// was served there: what it found cached is there before the clock starts, then its prefill and its
// decodes are timed, alone on the machine's core. Plain object: no virtual time, no messages.
#pragma once

#include <functional>
#include <vector>

#include "actors/plan.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// A request as the simulation served it.
struct sampled_request {
  request_id id;
  session_id session;
  std::vector<token_id> tokens;  ///< the prompt's, and the answer's where that is given
  token_count input_tokens;
  token_count output_tokens;
  token_count hit_tokens;  ///< leading ones, exact
};

class real_sample {
 public:
  explicit real_sample(const contender_plan& plan) : plan_{plan} {}

  bool holds(session_id session) const { return plan_.sample.holds(session); }
  /// A request of the sample is over.
  void take(sampled_request request);
  /// Computes the requests in the order in which they were taken, until `goes_on` says no: the
  /// table `measured`.
  table measure(const std::function<bool()>& goes_on);
  /// Requests that were too long, so far.
  std::int64_t left_out() const { return left_out_; }

 private:
  void measure(table& rows, const std::function<bool()>& goes_on);

  const contender_plan& plan_;
  std::vector<sampled_request> requests_;
  std::int64_t left_out_ = 0;
};

}  // namespace refrain
