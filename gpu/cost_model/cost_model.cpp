// The formula and its reference values are in gpu/README.md. Sizes are those of one rank.
#include "gpu/cost_model/cost_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "traces/error.hpp"

namespace refrain {

namespace {

constexpr double element = bytes_per_element;

// Below: smooth maxima (a^p + b^p)^(1/p), scaled by the largest so that no power overflows.
double smooth(double a, double b, double p) {
  double high = std::max(a, b);
  double low = std::min(a, b);
  return high * std::pow(1 + std::pow(low / high, p), 1 / p);
}

double smooth(double a, double b, double c, double p) {
  double high = std::max({a, b, c});
  double sum = std::pow(a / high, p) + std::pow(b / high, p) + std::pow(c / high, p);
  return high * std::pow(sum, 1 / p);
}

/// Prefill kernels reach more of the peak with larger heads. Measured on H100, H200, L40S and B200
/// for 64 and 256; sizes in between take the rate of 128.
double head_size_factor(std::int64_t head_size) {
  return head_size == 64 ? 0.8 : head_size == 256 ? 1.15 : 1.0;
}

linear_numbers find_all_reduce(const hardware_profile& profile, std::int64_t tensor_parallel) {
  auto found = profile.all_reduce.find(tensor_parallel);
  if (found != profile.all_reduce.end()) {
    return found->second;
  }
  std::vector<std::int64_t> degrees{1};
  for (const auto& [degree, numbers] : profile.all_reduce) {
    degrees.push_back(degree);
  }
  throw input_error{"hardware.tensor_parallel",
                    fmt::format("{} has no all-reduce times for {} GPUs; known degrees: {}",
                                profile.name, tensor_parallel, fmt::join(degrees, ", "))};
}

}  // namespace

cost_model::cost_model(const hardware_profile& profile, const model_shape& model,
                       std::int64_t tensor_parallel, sim_time host_overhead)
    : gemm_{profile.gemm},
      prefill_{profile.prefill_attention},
      layers_{static_cast<double>(model.layers)},
      host_s_{to_seconds(host_overhead)} {
  model.check_tensor_parallel(tensor_parallel);
  auto ranks = static_cast<double>(tensor_parallel);
  auto hidden = static_cast<double>(model.hidden);
  auto size = static_cast<double>(model.head_size);
  double heads = static_cast<double>(model.heads) / ranks;
  auto kv_heads = static_cast<double>(model.kv_heads_per_rank(tensor_parallel));
  double feed_forward = static_cast<double>(model.feed_forward) / ranks;

  products_ = {make_product(gemm_, (heads + 2 * kv_heads) * size, hidden),
               make_product(gemm_, hidden, heads * size),
               make_product(gemm_, 2 * feed_forward, hidden),
               make_product(gemm_, hidden, feed_forward)};
  output_ = make_product(gemm_, static_cast<double>(model.vocabulary) / ranks, hidden);

  const linear_numbers& elementwise = profile.elementwise;
  double moved = element * (8 * hidden + 3 * feed_forward + 2 * (heads + kv_heads) * size);
  token_fixed_s_ = elementwise.launch_s;
  per_token_s_ = moved / elementwise.bandwidth_bytes_per_s;
  if (tensor_parallel > 1) {
    linear_numbers reduce = find_all_reduce(profile, tensor_parallel);
    double sent = element * hidden * 2 * (ranks - 1) / ranks;
    token_fixed_s_ += 2 * reduce.launch_s;
    per_token_s_ += 2 * sent / reduce.bandwidth_bytes_per_s;
  }

  double rate = prefill_.rate_flop_per_s * head_size_factor(model.head_size);
  prefill_pair_s_ = 4 * size * heads / rate;
  prefill_query_s_ = element * size * 2 * heads / prefill_.bandwidth_bytes_per_s;
  prefill_key_s_ = element * size * 2 * kv_heads / prefill_.bandwidth_bytes_per_s;
  const decode_attention_numbers& decode = profile.decode_attention;
  decode_launch_s_ = decode.launch_s;
  decode_sequence_s_ = decode.s_per_sequence_head * heads;
  decode_key_s_ = element * size * 2 * kv_heads / decode.bandwidth_bytes_per_s;
  rotate_launch_s_ = elementwise.launch_s;
  rotate_s_ = element * size * 2 * kv_heads / elementwise.bandwidth_bytes_per_s;
}

sim_time cost_model::iteration(const batch& work) {
  if (work.prefill.empty()) {
    return decode(work.decodes).at(work.decode_context);
  }
  std::int64_t new_tokens = work.decodes;
  for (const prefill_chunk& chunk : work.prefill) {
    new_tokens += chunk.new_tokens;
  }
  auto tokens = static_cast<double>(new_tokens);
  double sequences = static_cast<double>(work.prefill.size()) + static_cast<double>(work.decodes);
  double seconds = total_s(tokens, sequences, prefill_attention_s(work, tokens)) + blend_s(work);
  return sim_time{std::llrint(seconds * 1e9)};
}

decode_line cost_model::decode(std::int64_t sequences) {
  REFRAIN_ASSERT(sequences >= 1);
  auto count = static_cast<double>(sequences);
  double attention_s = decode_launch_s_ + decode_sequence_s_ * count;
  return {.base_s = total_s(count, count, attention_s), .per_key_s = layers_ * decode_key_s_};
}

cost_model::product cost_model::make_product(const gemm_numbers& gemm, double outputs,
                                             double inputs) {
  return {.weights_s = element * outputs * inputs / gemm.bandwidth_bytes_per_s,
          .per_row_s = element * (outputs + inputs) / gemm.bandwidth_bytes_per_s,
          .compute_s = 2 * outputs * inputs / gemm.rate_flop_per_s};
}

double cost_model::product_s(const product& shape, double rows) const {
  double memory = shape.weights_s + shape.per_row_s * rows;
  return gemm_.launch_s + smooth(memory, shape.compute_s * rows, gemm_.sharpness);
}

double cost_model::prefill_attention_s(const batch& work, double tokens) const {
  double pairs = 0;
  double keys = static_cast<double>(work.decode_context);
  double longest = work.decodes > 0 ? static_cast<double>(work.longest_decode_context) : 0;
  for (const prefill_chunk& chunk : work.prefill) {
    REFRAIN_ASSERT(chunk.new_tokens >= 1 && chunk.cached_tokens >= 0);
    auto fresh = static_cast<double>(chunk.new_tokens.get());
    auto cached = static_cast<double>(chunk.cached_tokens.get());
    // Causal: a new token sees half of the new ones on average; a tile is computed whole.
    double rows = std::ceil(fresh / prefill_.tile_rows) * prefill_.tile_rows;
    pairs += rows * (cached + (fresh + 1) / 2 + prefill_.tile_fixed_keys);
    double read = cached + fresh + static_cast<double>(chunk.other_keys.get());
    keys += read;
    longest = std::max(longest, read);
  }
  pairs += prefill_.mixed_rows * (static_cast<double>(work.decode_context) +
                                  prefill_.tile_fixed_keys * static_cast<double>(work.decodes));
  return prefill_.launch_s + smooth(pairs * prefill_pair_s_, longest * prefill_.sweep_s_per_key,
                                    tokens * prefill_query_s_ + keys * prefill_key_s_,
                                    prefill_.sharpness);
}

/// What reusing chunks costs besides the tokens that are computed again: keys are rotated in every
/// layer, and where the first layer tells which tokens those are, it computes the whole chunk.
double cost_model::blend_s(const batch& work) const {
  double rotated = 0;
  double looked_at = 0;
  for (const prefill_chunk& chunk : work.prefill) {
    rotated += static_cast<double>(chunk.rotated_tokens.get());
    looked_at += static_cast<double>(chunk.first_layer_tokens.get());
  }
  double seconds = rotated > 0 ? layers_ * (rotate_launch_s_ + rotate_s_ * rotated) : 0;
  return seconds + (looked_at > 0 ? layer_s(looked_at, 0) : 0);
}

double cost_model::layer_s(double tokens, double attention_s) const {
  double seconds = attention_s + token_fixed_s_ + per_token_s_ * tokens;
  for (const product& each : products_) {
    seconds += product_s(each, tokens);
  }
  return seconds;
}

double cost_model::total_s(double tokens, double sequences, double attention_s) const {
  return host_s_ + layers_ * layer_s(tokens, attention_s) + product_s(output_, sequences);
}

}  // namespace refrain
