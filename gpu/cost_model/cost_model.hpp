// The analytic engine: a smooth roofline per operator. Each layer is four matrix products, one
// attention launch, elementwise kernels and two all-reduces; then the output layer. Times come from
// a hardware profile's fitted numbers and a model's shape alone. Held-out error of whole iterations
// against measured kernels is 4-8 % (mean, by GPU). Left out: the embedding lookup, sampling,
// skew between the contexts of one decode batch, quantised weights, and any overlap of host and GPU
// beyond a fixed host time an iteration.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/engine.hpp"
#include "gpu/model.hpp"
#include "gpu/profile.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Iteration times by formula; about a dozen pow calls each, no state beyond its constants.
class cost_model final : public engine {
 public:
  /// Throws input_error at hardware.tensor_parallel when the model cannot be split so, or when the
  /// profile has no all-reduce of that degree. `host_overhead` is added to every iteration.
  cost_model(const hardware_profile& profile, const model_shape& model,
             std::int64_t tensor_parallel, sim_time host_overhead);

  sim_time iteration(const batch& work) override;
  decode_line decode(std::int64_t sequences) override;

 private:
  /// One matrix product as a function of its rows: bytes and FLOPs are already divided by the
  /// bandwidth and the rate.
  struct product {
    double weights_s;  ///< reading the weights
    double per_row_s;  ///< reading and writing one row of activations
    double compute_s;  ///< multiplying one row
  };

  static product make_product(const gemm_numbers& gemm, double outputs, double inputs);
  double product_s(const product& shape, double rows) const;
  double layer_s(double tokens, double attention_s) const;
  double prefill_attention_s(const batch& work, double tokens) const;
  double total_s(double tokens, double sequences, double attention_s) const;
  double blend_s(const batch& work) const;

  gemm_numbers gemm_;
  prefill_attention_numbers prefill_;
  double layers_;
  double host_s_;
  std::array<product, 4> products_;  ///< QKV, output, gate and up, down
  product output_;                   ///< hidden to vocabulary
  double token_fixed_s_;             ///< elementwise and all-reduce of a layer, whatever the batch
  double per_token_s_;               ///< the same, per token of the batch
  double prefill_pair_s_;            ///< one query row against one key, all heads of the rank
  double prefill_query_s_;           ///< moving one token's query and output
  double prefill_key_s_;             ///< moving one token's key and value, beside prefill
  double decode_launch_s_;
  double decode_sequence_s_;  ///< per decoding sequence of a decode-only batch
  double decode_key_s_;       ///< per key of a decode-only batch
  double rotate_launch_s_;    ///< rotating keys in one layer, whatever their number
  double rotate_s_;           ///< reading, rotating and writing one token's keys in one layer
};

}  // namespace refrain
