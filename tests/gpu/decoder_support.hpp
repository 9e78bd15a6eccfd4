// What the tests of decoders share: random weights in any encoding, decoders of any shape, and
// sequences to run through them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "gpu/cpu/decoder.hpp"
#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "traces/random.hpp"

namespace refrain {

/// Makes matrices of random weights, mean square near 1 / columns, and keeps them.
class weight_maker {
 public:
  explicit weight_maker(std::uint64_t seed) : random_{seed, "weights"} {}

  weight_matrix matrix(weight_type type, std::int64_t rows, std::int64_t columns) {
    std::vector<std::byte>& bytes = storage_->bytes.emplace_back();
    const encoding& code = encoding_of(type);
    for (std::int64_t i = 0; i < rows * columns / code.block_weights; ++i) {
      block(type, code.block_bytes, 1 / std::sqrt(static_cast<double>(columns)), bytes);
    }
    return {type, rows, columns, bytes};
  }

  std::span<const float> vector(std::int64_t size, double mean, double spread) {
    std::vector<float>& values = storage_->numbers.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(mean + spread * random_.normal()));
    }
    return values;
  }

  std::shared_ptr<const void> storage() const { return storage_; }

 private:
  struct arrays {
    std::deque<std::vector<std::byte>> bytes;
    std::deque<std::vector<float>> numbers;
  };
  /// Where halves that scale a block lie, and by what its integers exceed 1 on average.
  struct scale_places {
    double integers;
    std::vector<std::size_t> scales, least;
  };

  static scale_places places(weight_type type) {
    using enum weight_type;
    switch (type) {
      case q4_0:
        return {4.6, {0}, {}};
      case q4_1:
        return {4.6, {0}, {2}};
      case q5_0:
        return {9.2, {0}, {}};
      case q8_0:
        return {74, {0}, {}};
      case q4_k:
        return {170, {0}, {2}};
      case q6_k:
        return {1400, {208}, {}};
      default:
        return {};
    }
  }

  void block(weight_type type, std::int64_t size, double spread, std::vector<std::byte>& to) {
    std::size_t at = to.size();
    to.resize(at + static_cast<std::size_t>(size));
    std::byte* bytes = to.data() + at;
    if (!is_quantised(type)) {
      auto value = static_cast<float>(spread * random_.normal());
      std::uint32_t bits;
      std::memcpy(&bits, &value, 4);
      std::uint16_t half =
          type == weight_type::bf16 ? static_cast<std::uint16_t>(bits >> 16) : half_near(value);
      std::memcpy(bytes, type == weight_type::f32 ? static_cast<void*>(&bits) : &half,
                  static_cast<std::size_t>(size));
      return;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::byte>(random_.below(256));
    }
    scale_places found = places(type);
    for (std::size_t place : found.scales) {
      put_half(spread / found.integers, bytes + place);
    }
    for (std::size_t place : found.least) {  // minus the mean of nibbles: the weights' mean is 0
      double sign = type == weight_type::q4_1 ? -1 : 1;
      put_half(sign * 7.5 * spread / found.integers, bytes + place);
    }
  }

  void put_half(double value, std::byte* to) {
    std::uint16_t half = half_near(static_cast<float>(value * (0.75 + 0.5 * random_.uniform())));
    std::memcpy(to, &half, 2);
  }

  /// Half precision, cut off; numbers below its normal ones become the least of those.
  static std::uint16_t half_near(float value) {
    int exponent;
    float fraction = std::frexp(std::abs(value), &exponent);
    exponent = std::max(exponent + 14, 1);
    auto bits = static_cast<std::uint16_t>((fraction * 2 - 1) * 1024);
    return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000 : 0) | exponent << 10 |
                                      (value == 0 ? 0 : bits));
  }

  random_stream random_;
  std::shared_ptr<arrays> storage_ = std::make_shared<arrays>();
};

/// What a random decoder looks like beside its shape.
struct decoder_look {
  weight_type attention = weight_type::f32;
  weight_type feed_forward = weight_type::f32;
  bool biases = false;
  bool divisors = false;
};

inline llama_weights random_llama(const llama_shape& shape, const decoder_look& look,
                                  std::uint64_t seed) {
  weight_maker make{seed};
  llama_weights out;
  out.name = "random";
  out.shape = shape;
  const std::int64_t queries = shape.heads * shape.head_size;
  const std::int64_t keys = shape.kv_heads * shape.head_size;
  out.token_embedding = out.output = make.matrix(look.attention, shape.vocabulary, shape.hidden);
  out.output_norm = make.vector(shape.hidden, 20, 2);  // logits of some size
  if (look.divisors) {
    out.rotary_divisors = make.vector(shape.rotary_size / 2, 2, 0.3);
  }
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    llama_layer layer;
    layer.attention_norm = make.vector(shape.hidden, 2, 0.1);
    layer.query = make.matrix(look.attention, queries, shape.hidden);
    layer.key = make.matrix(look.attention, keys, shape.hidden);
    layer.value = make.matrix(look.attention, keys, shape.hidden);
    layer.output = make.matrix(look.attention, shape.hidden, queries);
    if (look.biases) {
      layer.query_bias = make.vector(queries, 0, 0.5);
      layer.key_bias = make.vector(keys, 0, 0.5);
      layer.value_bias = make.vector(keys, 0, 0.5);
    }
    layer.feed_forward_norm = make.vector(shape.hidden, 1, 0.1);
    layer.gate = make.matrix(look.feed_forward, shape.feed_forward, shape.hidden);
    layer.up = make.matrix(look.feed_forward, shape.feed_forward, shape.hidden);
    layer.down = make.matrix(look.feed_forward, shape.hidden, shape.feed_forward);
    out.layers.push_back(layer);
  }
  out.storage = make.storage();
  return out;
}

/// Tokens with their positions and blocks.
struct test_sequence {
  std::vector<token_id> tokens;
  std::vector<block_id> blocks;
  std::vector<std::int64_t> positions = std::vector<std::int64_t>(tokens.size());

  test_sequence(std::vector<token_id> all, std::vector<block_id> of)
      : tokens{std::move(all)}, blocks{std::move(of)} {
    std::iota(positions.begin(), positions.end(), 0);
  }

  /// Tokens `from` to `to` - 1.
  decoder_piece piece(std::size_t from, std::size_t to,
                      decltype(decoder_piece::logits) logits = decoder_piece::all) const {
    return {.tokens = std::span{tokens}.subspan(from, to - from),
            .positions = std::span{positions}.subspan(from, to - from),
            .blocks = blocks,
            .logits = logits};
  }
};

inline std::vector<token_id> random_tokens(std::size_t count, std::int64_t vocabulary,
                                           std::uint64_t seed) {
  random_stream random{seed, "tokens"};
  std::vector<token_id> out(count);
  for (token_id& token : out) {
    token = static_cast<token_id>(random.below(static_cast<std::uint64_t>(vocabulary)));
  }
  return out;
}

/// Blocks `first`, `first` + `step`, ... enough for so many tokens.
inline std::vector<block_id> blocks_for(std::size_t tokens, std::int64_t block_tokens,
                                        std::size_t first, std::size_t step = 1) {
  std::vector<block_id> out;
  for (std::size_t at = 0; at < tokens; at += static_cast<std::size_t>(block_tokens)) {
    out.push_back(block_id{static_cast<std::uint32_t>(first + out.size() * step)});
  }
  return out;
}

/// Makes every number of the store one that is none.
inline void fill_with_nan(kv_store& kv) {
  for (std::int64_t i = 0; i < kv.blocks(); ++i) {
    std::ranges::fill(kv.block(block_id{static_cast<std::uint32_t>(i)}), std::byte{255});
  }
}

/// Precisions that this CPU has.
inline std::vector<cpu_precision> precisions_here() {
  using enum cpu_precision;
  return avx512_features() ? std::vector{fp32, fp32_fast, bf16, int8}
                           : std::vector{fp32, fp32_fast};
}

/// Largest difference of two vectors as a part of the largest magnitude of the second.
inline double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = a.size() == b.size() ? 0 : INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double here = std::abs(double{a[i]} - double{b[i]});
    difference = here >= 0 ? std::max(difference, here) : INFINITY;  // what is no number, too
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace refrain
