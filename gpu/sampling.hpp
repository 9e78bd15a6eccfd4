// From logits to the next token, and how far two sets of logits are from each other. Filters follow
// the order of Hugging Face and vLLM: temperature, then top_k, then top_p. Left out: min_p,
// penalties for repetition. NaN, +infinity and rows without any finite logit stop the run; a token
// at -infinity is never chosen.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// The token of the largest logit, the first of equal ones. Throws run_error, as all below,
/// beginning with `where`.
token_id greedy(std::span<const float> logits, std::string_view where);
/// Logarithms of the softmax, [vocabulary].
std::vector<double> log_softmax(std::span<const float> logits, std::string_view where);
/// Kullback-Leibler divergence of `other` from `reference` in nats: infinite where `other` rules
/// out what the reference does not.
double kl_divergence(std::span<const float> reference, std::span<const float> other,
                     std::string_view where);

/// How another way to compute the same logits compares with the reference, row by row.
class logit_comparison {
 public:
  /// One row of each, [vocabulary].
  void add(std::span<const float> reference, std::span<const float> other, std::string_view where);

  std::uint64_t rows() const { return rows_; }
  /// Rows in which both have the same greedy token.
  std::uint64_t rows_of_same_top() const { return same_top_; }
  /// Of the rows' divergences, in nats; 0 before the first.
  double kl_mean() const { return rows_ > 0 ? kl_sum_ / static_cast<double>(rows_) : 0; }
  double kl_max() const { return kl_max_; }

 private:
  std::uint64_t rows_ = 0;
  std::uint64_t same_top_ = 0;
  double kl_sum_ = 0;
  double kl_max_ = 0;
};

/// How tokens are chosen.
struct sampling_settings {
  double temperature = 1;  ///< divides the logits; 0 = greedy
  std::int64_t top_k = 0;  ///< only the k most probable, lower ids first of equal ones; 0 = all
  double top_p = 1;        ///< of these the fewest whose share reaches p, at least one; 1 = all
};

/// Chooses tokens. What is chosen depends on the logits, the settings, the seed, the request and
/// the step alone, whatever else is in the batch.
class token_sampler {
 public:
  /// Requires temperature >= 0 and finite, top_k >= 0 and 0 < top_p <= 1.
  token_sampler(const sampling_settings& settings, std::uint64_t seed);

  /// The next token of `request`, whose `step` (from 0) it is. One draw, none if greedy.
  token_id next(std::span<const float> logits, request_id request, std::uint64_t step) const;

 private:
  sampling_settings settings_;
  std::uint64_t seed_;
};

}  // namespace refrain
