// What computing KV costs, for policies that weigh it: a linear price per token. In replay the
// figures are given (they have defaults); in a run whoever makes the cache fills them in from its
// cost model.
#pragma once

#include <cstdint>

namespace refrain {

/// t(c, u) = u x (a + b x c): seconds to compute u tokens behind c tokens that are there already.
/// The defaults are near Llama-3-8B at half the peak of an H100 (32,768 tokens/s without context)
/// and powers of two, so that sums are exact: a block of 512 tokens at depth d costs
/// (1 + d / 64) / 64 seconds.
struct recompute_model {
  double seconds_per_token = 0x1p-15;          ///< a
  double seconds_per_context_token = 0x1p-30;  ///< b

  double seconds(std::int64_t before, std::int64_t tokens) const {
    return static_cast<double>(tokens) *
           (seconds_per_token + seconds_per_context_token * static_cast<double>(before));
  }
};

}  // namespace refrain
