// This machine as the cost model sees it: batches of many shapes are timed with the engine that
// computes, and the numbers of a hardware profile are fitted to their times.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gpu/cpu/decoder.hpp"
#include "gpu/engine.hpp"
#include "gpu/profile.hpp"

namespace refrain {

/// A batch and how long it took, the median of several times.
struct timed_batch {
  batch work;
  double seconds;
};

/// Times prefills of 4 to 1,024 tokens over 0 to 2,048 cached ones, decodes of 1 to 32 sequences
/// with up to 2,048 keys, and both together, in rounds, so that a slow moment falls on all alike.
/// Sizes that would take more than some seconds, and those beyond the model's positions, are left
/// out. Throws computing_stopped once `goes_on` says no.
std::vector<timed_batch> time_batches(std::shared_ptr<const llama_weights> weights,
                                      cpu_precision precision,
                                      const std::function<bool()>& goes_on);

/// Bytes a second of copying KV blocks from memory to memory.
double time_copies(const kv_layout& layout);

/// How far the formula is from the times that it was fitted to: |formula / time - 1|.
struct fit_errors {
  double mean = 0;
  double p90 = 0;
  double worst = 0;
};

/// A profile with the formula's numbers fitted to the times of this model (least squares of the
/// logarithms); name, stack, source and memory are left to the caller.
hardware_profile fit_profile(const std::vector<timed_batch>& times, const llama_weights& weights,
                             fit_errors& errors);

}  // namespace refrain
