// What a model's KV belongs to, and its size: both walk all weights in one order.
#include <xxhash.h>

#include <bit>

#include "gpu/model_files/llama_file.hpp"

namespace refrain {
namespace {

/// Calls `matrix` and `vector` for all weights; absent ones are empty.
template <class Matrix, class Vector>
void walk(const llama_weights& weights, Matrix matrix, Vector vector) {
  matrix(weights.token_embedding);
  matrix(weights.output);
  vector(weights.output_norm);
  vector(weights.rotary_divisors);
  for (const llama_layer& layer : weights.layers) {
    vector(layer.attention_norm);
    for (const weight_matrix* each : {&layer.query, &layer.key, &layer.value, &layer.output}) {
      matrix(*each);
    }
    for (std::span<const float> each : {layer.query_bias, layer.key_bias, layer.value_bias}) {
      vector(each);
    }
    vector(layer.feed_forward_norm);
    for (const weight_matrix* each : {&layer.gate, &layer.up, &layer.down}) {
      matrix(*each);
    }
  }
}

class hasher {
 public:
  hasher() { XXH3_128bits_reset(state_.get()); }

  void add(std::span<const std::byte> bytes) {
    number(bytes.size());
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void number(std::uint64_t value) { XXH3_128bits_update(state_.get(), &value, sizeof value); }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }

  std::array<std::uint64_t, 2> digest() const {
    XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.high64, hash.low64};
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_{XXH3_createState(),
                                                                  XXH3_freeState};
};

}  // namespace

std::array<std::uint64_t, 2> fingerprint_of_weights(const llama_weights& weights) {
  hasher hash;
  const llama_shape& shape = weights.shape;
  for (std::int64_t value : {shape.layers, shape.hidden, shape.feed_forward, shape.heads,
                             shape.kv_heads, shape.head_size, shape.vocabulary, shape.context,
                             shape.rotary_size, std::int64_t{shape.adjacent_pairs}}) {
    hash.number(value);
  }
  hash.number(std::bit_cast<std::uint64_t>(shape.rotary_base));
  hash.number(std::uint64_t{std::bit_cast<std::uint32_t>(shape.norm_epsilon)});
  walk(
      weights,
      [&](const weight_matrix& matrix) {
        hash.number(static_cast<std::uint64_t>(matrix.type));
        hash.number(matrix.rows);
        hash.number(matrix.columns);
        hash.add(matrix.bytes);
      },
      [&](std::span<const float> vector) { hash.add(std::as_bytes(vector)); });
  return hash.digest();
}

bool is_tied(const llama_weights& weights) {
  return weights.output.bytes.data() == weights.token_embedding.bytes.data();
}

std::int64_t parameters_of(const llama_weights& weights) {
  std::int64_t count = 0;
  walk(
      weights, [&](const weight_matrix& matrix) { count += matrix.rows * matrix.columns; },
      [&](std::span<const float> vector) { count += static_cast<std::int64_t>(vector.size()); });
  return is_tied(weights) ? count - weights.output.rows * weights.output.columns : count;
}

}  // namespace refrain
