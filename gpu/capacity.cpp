// Divides what is left of a GPU's memory by the bytes of a KV block, and says why when nothing is.
#include "gpu/capacity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "traces/error.hpp"

namespace refrain {

namespace {

double gib(double bytes) {
  return bytes / (1024.0 * 1024.0 * 1024.0);
}

[[noreturn]] void refuse(const hardware_profile& profile, const model_shape& model,
                         std::int64_t tensor_parallel, double share, double weights) {
  double memory = static_cast<double>(profile.memory.get());
  double activations = static_cast<double>(profile.activations.get());
  if (weights + activations >= memory) {
    throw input_error{"tiers.gpu.share",
                      fmt::format("{} needs {:.1f} GiB of weights on each GPU of {:.4g} GiB; raise "
                                  "hardware.tensor_parallel above {}",
                                  model.name, gib(weights), gib(memory), tensor_parallel)};
  }
  throw input_error{
      "tiers.gpu.share",
      fmt::format("{:.4g}% of the {:.4g} GiB of {} leaves no KV block after {:.1f} "
                  "GiB of weights and {:.1f} GiB of activations; raise the share or "
                  "hardware.tensor_parallel",
                  100 * share, gib(memory), profile.name, gib(weights), gib(activations))};
}

}  // namespace

std::int64_t kv_blocks(const hardware_profile& profile, const model_shape& model,
                       std::int64_t tensor_parallel, double share, std::int64_t block_tokens) {
  REFRAIN_ASSERT(block_tokens >= 1);
  model.check_tensor_parallel(tensor_parallel);
  double weights = static_cast<double>(bytes_per_element) * static_cast<double>(model.parameters) /
                   static_cast<double>(tensor_parallel);
  double left = share * static_cast<double>(profile.memory.get()) - weights -
                static_cast<double>(profile.activations.get());
  double block = static_cast<double>(block_tokens) *
                 static_cast<double>(model.kv_bytes_per_token(tensor_parallel));
  double blocks = std::floor(left / block);
  if (!(blocks >= 1)) {
    refuse(profile, model, tensor_parallel, share, weights);
  }
  return static_cast<std::int64_t>(blocks);
}

std::int64_t max_kv_blocks(const hardware_profile& profile, const model_shape& model,
                           std::int64_t tensor_parallel, std::int64_t block_tokens) {
  return kv_blocks(profile, model, tensor_parallel, 1.0, block_tokens);
}

}  // namespace refrain
