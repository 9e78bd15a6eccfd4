// What of a run was computed for real beside the simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/results_reader.hpp"
#include "analysis/statistics.hpp"

namespace refrain {

/// Requests that were computed for real beside the simulation.
struct sample_summary {
  std::string model;
  std::string precision;
  std::int64_t requests = 0;
  std::int64_t sessions = 0;
  std::int64_t left_out = 0;  ///< too long
  std::int64_t input_tokens = 0;
  std::int64_t hit_tokens = 0;  ///< of these
  std::int64_t output_tokens = 0;
  distribution prefill_s;
  distribution tpot_s;
};

/// Of one contender; nothing where it had no sample, or has not come to it yet.
std::optional<sample_summary> summarise_sample(const results_reader& results,
                                               std::size_t contender);

}  // namespace refrain
