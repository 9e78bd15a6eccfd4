// How many KV blocks fit on a GPU: its share of memory less the weights and what serving itself
// holds. Weights are two bytes a parameter, split evenly over the ranks.
#pragma once

#include <cstdint>

#include "gpu/model.hpp"
#include "gpu/profile.hpp"

namespace refrain {

/// KV blocks of `block_tokens` tokens one rank holds: floor((share x memory - weights -
/// activations) / bytes of a block). Throws input_error at tiers.gpu.share when none fits, at
/// hardware.tensor_parallel when the model cannot be split so.
std::int64_t kv_blocks(const hardware_profile& profile, const model_shape& model,
                       std::int64_t tensor_parallel, double share, std::int64_t block_tokens);

/// The same with the whole memory: the most that a scenario may ask for in blocks.
std::int64_t max_kv_blocks(const hardware_profile& profile, const model_shape& model,
                           std::int64_t tensor_parallel, std::int64_t block_tokens);

}  // namespace refrain
