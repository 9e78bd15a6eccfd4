// A decoder's forward pass written to be read: one token after the other, in double precision,
// sharing nothing with the engines but the reading of weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/cpu/decoder.hpp"
#include "gpu/model_files/encodings.hpp"

namespace refrain {

using plain_vector = std::vector<double>;

inline std::vector<float> plain_row(const weight_matrix& matrix, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(matrix.columns));
  dequantise(matrix.type, row_of(matrix, row), values);
  return values;
}

inline plain_vector plain_product(const weight_matrix& matrix, const plain_vector& x,
                                  std::span<const float> bias = {}) {
  plain_vector y;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::vector<float> weights = plain_row(matrix, row);
    double sum = bias.empty() ? 0 : double{bias[static_cast<std::size_t>(row)]};
    for (std::size_t k = 0; k < x.size(); ++k) {
      sum += double{weights[k]} * x[k];
    }
    y.push_back(sum);
  }
  return y;
}

inline plain_vector plain_norm(plain_vector x, std::span<const float> weight, double epsilon) {
  double squares = 0;
  for (double each : x) {
    squares += each * each;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] *= double{weight[i]} / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  }
  return x;
}

/// Turns every head of `x` to `position`.
inline void plain_rotate(const llama_weights& model, std::size_t position, plain_vector& x) {
  const llama_shape& shape = model.shape;
  auto half = static_cast<std::size_t>(shape.rotary_size / 2);
  auto head_size = static_cast<std::size_t>(shape.head_size);
  for (std::size_t head = 0; head < x.size(); head += head_size) {
    for (std::size_t i = 0; i < half; ++i) {
      double divisor = model.rotary_divisors.empty() ? 1 : double{model.rotary_divisors[i]};
      double angle =
          static_cast<double>(position) / divisor *
          std::pow(shape.rotary_base, -static_cast<double>(i) / static_cast<double>(half));
      double& a = x[head + (shape.adjacent_pairs ? 2 * i : i)];
      double& b = x[head + (shape.adjacent_pairs ? 2 * i + 1 : i + half)];
      double turned = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = turned;
    }
  }
}

/// Attention of one token over `keys` and `values` of all positions up to its own.
inline plain_vector plain_attention(const llama_shape& shape, const plain_vector& q,
                                    std::span<const plain_vector> keys,
                                    std::span<const plain_vector> values) {
  auto size = static_cast<std::size_t>(shape.head_size);
  plain_vector out(q.size());
  for (std::size_t head = 0; head * size < q.size(); ++head) {
    std::size_t kv = head / static_cast<std::size_t>(shape.heads / shape.kv_heads) * size;
    double sum = 0;
    for (std::size_t at = 0; at < keys.size(); ++at) {
      double dot = 0;
      for (std::size_t i = 0; i < size; ++i) {
        dot += q[head * size + i] * keys[at][kv + i];
      }
      double weight = std::exp(dot / std::sqrt(static_cast<double>(size)));
      sum += weight;
      for (std::size_t i = 0; i < size; ++i) {
        out[head * size + i] += weight * values[at][kv + i];
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      out[head * size + i] /= sum;
    }
  }
  return out;
}

/// Logits after each token, [token][vocabulary].
inline std::vector<float> plain_forward(const llama_weights& model,
                                        std::span<const token_id> tokens) {
  const llama_shape& shape = model.shape;
  const double epsilon = shape.norm_epsilon;
  std::vector<std::vector<plain_vector>> keys(model.layers.size()), values(model.layers.size());
  std::vector<float> logits;
  auto add = [](plain_vector& to, const plain_vector& what) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] += what[i];
    }
  };
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    std::vector<float> embedded = plain_row(model.token_embedding, tokens[at]);
    plain_vector x{embedded.begin(), embedded.end()};
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const llama_layer& layer = model.layers[i];
      plain_vector normed = plain_norm(x, layer.attention_norm, epsilon);
      plain_vector q = plain_product(layer.query, normed, layer.query_bias);
      plain_vector k = plain_product(layer.key, normed, layer.key_bias);
      plain_rotate(model, at, q);
      plain_rotate(model, at, k);
      keys[i].push_back(k);
      values[i].push_back(plain_product(layer.value, normed, layer.value_bias));
      add(x, plain_product(layer.output, plain_attention(shape, q, keys[i], values[i])));
      normed = plain_norm(x, layer.feed_forward_norm, epsilon);
      plain_vector gate = plain_product(layer.gate, normed);
      plain_vector up = plain_product(layer.up, normed);
      for (std::size_t j = 0; j < gate.size(); ++j) {
        up[j] *= gate[j] / (1 + std::exp(-gate[j]));
      }
      add(x, plain_product(layer.down, up));
    }
    for (double each : plain_product(model.output, plain_norm(x, model.output_norm, epsilon))) {
      logits.push_back(static_cast<float>(each));
    }
  }
  return logits;
}

}  // namespace refrain
