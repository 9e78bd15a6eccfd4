// The shape of a decoder: what the cost model and the KV cache need to know of a model, and nothing
// of its weights. Llama-like: gated feed-forward, grouped-query attention, KV of two bytes an
// element. Sliding windows, experts and latent attention are left out. One file per model in
// gpu/models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/weights.hpp"

namespace refrain {

/// Dimensions of a decoder, for all ranks of a tensor-parallel group together.
struct model_shape {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;      ///< query heads of a layer
  std::int64_t kv_heads = 0;   ///< key-value heads of a layer
  std::int64_t head_size = 0;  ///< elements of a head
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;  ///< the output layer is the embedding table
  std::int64_t parameters = 0;
  std::string source;

  /// Key-value heads one rank of `tensor_parallel` holds: at least one, then copied.
  std::int64_t kv_heads_per_rank(std::int64_t tensor_parallel) const;
  /// KV bytes of one token on one rank: keys and values of every layer at 2 bytes an element.
  std::int64_t kv_bytes_per_token(std::int64_t tensor_parallel) const;
  /// Throws input_error at hardware.tensor_parallel unless heads and key-value heads can be shared
  /// out evenly.
  void check_tensor_parallel(std::int64_t tensor_parallel) const;
};

/// The shape of weights that are at hand, under their name.
model_shape shape_of(const llama_weights& weights);

/// Bytes of one element of weights, activations and KV: bf16 or fp16.
inline constexpr std::int64_t bytes_per_element = 2;

/// The model of that name, or of that file when it ends in ".toml". Throws input_error.
model_shape load_model(const std::string& name);

/// The names of all models compiled in, sorted.
std::vector<std::string> model_names();

}  // namespace refrain
