// The made-up model. Weights are drawn evenly around 0 with the spread that keeps activations of
// one size from layer to layer; only exact operations are used, so that every machine gets the same
// bits. The attention's matrices are F32 and the feed-forward's Q8_0, so both ways are walked.
#include <cmath>
#include <deque>

#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

/// Numbers and blocks in memory; a deque leaves them where they are.
struct tiny_storage {
  std::deque<std::vector<float>> numbers;
  std::deque<std::vector<std::byte>> blocks;
};

class tiny_maker {
 public:
  explicit tiny_maker(std::uint64_t seed) : random_{seed, tiny_name} {}

  llama_weights make() {
    llama_weights out;
    out.name = tiny_name;
    out.shape = {.layers = 3,
                 .hidden = 128,
                 .feed_forward = 352,
                 .heads = 4,
                 .kv_heads = 2,
                 .head_size = 32,
                 .vocabulary = tiny_vocabulary,
                 .context = 4096,
                 .rotary_size = 32};
    const llama_shape& shape = out.shape;
    out.token_embedding = plain(shape.vocabulary, shape.hidden);
    out.output = plain(shape.vocabulary, shape.hidden);
    out.output_norm = ones(shape.hidden);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      out.layers.push_back(layer(shape));
    }
    out.storage = storage_;
    out.fingerprint = fingerprint_of_weights(out);
    return out;
  }

 private:
  llama_layer layer(const llama_shape& shape) {
    std::int64_t keys = shape.kv_heads * shape.head_size;
    llama_layer out;
    out.attention_norm = ones(shape.hidden);
    out.query = plain(shape.hidden, shape.hidden);
    out.key = plain(keys, shape.hidden);
    out.value = plain(keys, shape.hidden);
    out.output = plain(shape.hidden, shape.hidden);
    out.feed_forward_norm = ones(shape.hidden);
    out.gate = quantised(shape.feed_forward, shape.hidden);
    out.up = quantised(shape.feed_forward, shape.hidden);
    out.down = quantised(shape.hidden, shape.feed_forward);
    return out;
  }

  std::span<const float> ones(std::int64_t size) {
    return storage_->numbers.emplace_back(static_cast<std::size_t>(size), 1.0F);
  }

  /// Variance 1 / columns.
  weight_matrix plain(std::int64_t rows, std::int64_t columns) {
    std::vector<float>& numbers = storage_->numbers.emplace_back();
    double spread = std::sqrt(3.0 / static_cast<double>(columns));
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      numbers.push_back(static_cast<float>((2 * random_.uniform() - 1) * spread));
    }
    return {weight_type::f32, rows, columns, std::as_bytes(std::span{numbers})};
  }

  /// Multiples of 2^-10 up to 0.124: variance near 1 / 195.
  weight_matrix quantised(std::int64_t rows, std::int64_t columns) {
    constexpr std::byte scale_high{5 << 2};  // half precision 2^-10 has exponent 5 and no fraction
    constexpr std::int64_t block_weights = 32;
    std::vector<std::byte>& blocks = storage_->blocks.emplace_back();
    for (std::int64_t block = 0; block < rows * columns / block_weights; ++block) {
      blocks.push_back(std::byte{0});
      blocks.push_back(scale_high);
      for (std::int64_t i = 0; i < block_weights; ++i) {
        auto value = static_cast<std::int8_t>(static_cast<int>(random_.below(255)) - 127);
        blocks.push_back(static_cast<std::byte>(value));
      }
    }
    return {weight_type::q8_0, rows, columns, blocks};
  }

  random_stream random_;
  std::shared_ptr<tiny_storage> storage_ = std::make_shared<tiny_storage>();
};

}  // namespace

llama_weights tiny_llama(std::uint64_t seed) {
  return tiny_maker{seed}.make();
}

}  // namespace refrain
