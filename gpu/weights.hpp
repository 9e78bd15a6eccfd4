// The weights of a Llama-family decoder as an engine reads them: views of matrices in the encoding
// of their file, and the dimensions that go with them. A model file (`load_llama`) and the seeded
// random model (`tiny_llama`) both end here; engines never see a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace refrain {

/// Encodings of weights; the numbers are those of GGUF files.
enum class weight_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q8_0 = 8,
  q4_k = 12,
  q6_k = 14,
  bf16 = 30,
};

/// A row-major matrix [rows][columns] in its encoding; y = W x reads whole rows. Empty if rows = 0.
struct weight_matrix {
  weight_type type = weight_type::f32;
  std::int64_t rows = 0;     ///< outputs
  std::int64_t columns = 0;  ///< inputs
  std::span<const std::byte> bytes;
};

/// Dimensions of the decoder.
struct llama_shape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;  ///< of keys, queries and values alike
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;      ///< positions it was trained for
  std::int64_t rotary_size = 0;  ///< leading dimensions of a head that are rotated
  double rotary_base = 10000;    ///< pair i turns by position x base^(-2i / rotary_size)
  bool adjacent_pairs = true;    ///< pairs (2i, 2i + 1); false: (i, i + rotary_size / 2)
  float norm_epsilon = 1e-5F;
};

/// One layer. Biases are empty where the model has none.
struct llama_layer {
  std::span<const float> attention_norm;  ///< [hidden]
  weight_matrix query;                    ///< [heads x head_size][hidden]
  weight_matrix key;                      ///< [kv_heads x head_size][hidden]
  weight_matrix value;                    ///< [kv_heads x head_size][hidden]
  weight_matrix output;                   ///< [hidden][heads x head_size]
  std::span<const float> query_bias, key_bias, value_bias;
  std::span<const float> feed_forward_norm;  ///< [hidden]
  weight_matrix gate;                        ///< [feed_forward][hidden]
  weight_matrix up;                          ///< [feed_forward][hidden]
  weight_matrix down;                        ///< [hidden][feed_forward]
};

/// A decoder's weights. The views point into what `storage` keeps alive: a mapped file or memory.
struct llama_weights {
  std::string name;  ///< as it is shown: the file's general.name, or builtin:tiny
  llama_shape shape;
  weight_matrix token_embedding;  ///< [vocabulary][hidden]
  weight_matrix output;           ///< [vocabulary][hidden]; a tied model's is the embedding again
  std::span<const float> output_norm;      ///< [hidden]
  std::span<const float> rotary_divisors;  ///< [rotary_size / 2], divides the angles; empty = 1
  std::vector<llama_layer> layers;
  std::array<std::uint64_t, 2>
      fingerprint{};  ///< 128 bits over shape and weights: what KV belongs to
  std::shared_ptr<const void> storage;
};

}  // namespace refrain
