// What reuse policies share that take chunks wherever they stand: which kinds of segments are
// chunks, the parameters `r` and `exact_prefix`, and what follows from them.
#pragma once

#include <cmath>

#include "policies/reuse.hpp"
#include "traces/keys.hpp"

namespace refrain {

/// Chunks that were retrieved: documents and web pages. Bits of reuse_needs::chunk_kinds.
inline constexpr std::uint8_t retrieved_kinds =
    kind_bit(segment_kind::document) | kind_bit(segment_kind::web);
/// Every part of a prompt is a chunk.
inline constexpr std::uint8_t every_kind = (1u << segment_kinds) - 1;

/// The parameter `r`.
inline parameter recomputed_share_parameter() {
  return {.name = "r",
          .type = parameter_type::real,
          .standard = "0.15",
          .description = "share of a reused chunk's tokens that is computed again",
          .low = 0,
          .high = 1};
}
/// The parameter `exact_prefix`.
inline parameter exact_prefix_parameter() {
  return {.name = "exact_prefix",
          .type = parameter_type::boolean,
          .standard = "true",
          .description = "take what was computed behind the same text as it is"};
}

/// The rule that both parameters make.
class blending {
 public:
  explicit blending(const parameters& values)
      : share_{values.real("r")}, exact_prefix_{values.boolean("exact_prefix")} {}

  /// The leading run as it is, or nothing of it.
  std::int64_t plan(const reuse_offer& offer) const {
    return exact_prefix_ ? offer.leading_blocks : 0;
  }
  /// All that is resident of a chunk, ceil(r x tokens) of it computed again; nothing at r = 1.
  std::optional<chunk_choice> take(const chunk_offer& offer, blend_placement placement) const {
    if (share_ >= 1) {
      return std::nullopt;
    }
    double again = std::ceil(share_ * static_cast<double>(offer.resident.get()) - 1e-9);
    return chunk_choice{offer.resident, token_count{std::llround(again)}, placement};
  }

 private:
  double share_;
  bool exact_prefix_;
};

}  // namespace refrain
