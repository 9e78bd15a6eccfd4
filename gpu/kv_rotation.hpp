// Moving computed KV to other positions. A key is stored rotated to its position (RoPE, Su et al.
// 2021), and rotations add up: turning it by (new - old) x frequency gives the key that would have
// been computed at the new position, up to one rounding. Values carry no position. What other
// context would have changed in the layers above the first is not mended here. Rounding would add
// up over moves, so keys are moved once: from where they were computed, never from a moved copy.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/kv_run.hpp"
#include "gpu/weights.hpp"

namespace refrain {

/// How far each rotary pair turns from one position to the next, in radians, [rotary_size / 2].
std::vector<double> rotary_frequencies(const llama_weights& weights);

/// Moves KV of one model.
class kv_mover {
 public:
  explicit kv_mover(const llama_weights& weights);

  /// Copies the tokens of `from` to the places and positions of `to`, of as many tokens, in the
  /// same store; blocks need not be aligned with each other, the places must not be shared. Keys
  /// are rotated in fp32 by cosines and sines found in double, then rounded once to the store's
  /// type. Copies at another position are recorded as not computed there; at the same position they
  /// are the original again. Throws run_error, and changes nothing, where a token of `from` was not
  /// computed at its position.
  void move(kv_store& kv, const kv_run& from, const kv_run& to) const;

 private:
  std::vector<double> frequencies_;
  std::int64_t head_size_;
  std::int64_t rotary_size_;
  bool adjacent_pairs_;
};

}  // namespace refrain
