// The reference: what other kernels are compared with. A sum over keys or dimensions runs in an
// order that depends on positions alone, so a prompt computed whole, in chunks or over cached
// blocks gives the same bits.
#include <Eigen/Core>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/cpu/kernels.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

using row_map = Eigen::Map<const Eigen::ArrayXf>;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using tile_map = Eigen::Map<const matrix>;

void rms_norm(const float* x, std::int64_t rows, std::int64_t size, const float* weight,
              float epsilon, float* out) {
  for (std::int64_t row = 0; row < rows; ++row, x += size, out += size) {
    row_map in{x, size};
    float mean = in.square().sum() / static_cast<float>(size);
    Eigen::Map<Eigen::ArrayXf>{out, size} =
        in * (1 / std::sqrt(mean + epsilon)) * row_map{weight, size};
  }
}

void gate(const float* gate_and_up, std::int64_t rows, std::int64_t size, float* out) {
  for (std::int64_t row = 0; row < rows; ++row, gate_and_up += 2 * size, out += size) {
    row_map g{gate_and_up, size};
    row_map u{gate_and_up + size, size};
    Eigen::Map<Eigen::ArrayXf>{out, size} = g / (1 + (-g).exp()) * u;
  }
}

void rotate(float* head, const rotation* angles, std::int64_t rotary_size, bool adjacent_pairs) {
  std::int64_t half = rotary_size / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    float& a = head[adjacent_pairs ? 2 * i : i];
    float& b = head[adjacent_pairs ? 2 * i + 1 : i + half];
    float turned = a * angles[i].cosine - b * angles[i].sine;
    b = a * angles[i].sine + b * angles[i].cosine;
    a = turned;
  }
}

void store(const float* row, std::int64_t size, kv_type type, std::byte* to) {
  REFRAIN_ASSERT(type == kv_type::fp32);
  std::memcpy(to, row, static_cast<std::size_t>(size) * sizeof(float));
}

/// Tiles of one KV head of a sequence, a block at a time.
class head_tiles {
 public:
  head_tiles(const kv_store& kv, std::int64_t layer, std::int64_t head,
             std::span<const block_id> blocks)
      : kv_{kv}, layer_{layer}, head_{head}, blocks_{blocks} {}

  tile_map keys(std::int64_t block, std::int64_t tokens) const {
    return map(kv_.keys(blocks_[static_cast<std::size_t>(block)], layer_, head_), tokens);
  }
  tile_map values(std::int64_t block, std::int64_t tokens) const {
    return map(kv_.values(blocks_[static_cast<std::size_t>(block)], layer_, head_), tokens);
  }

 private:
  tile_map map(const std::byte* tile, std::int64_t tokens) const {
    return {reinterpret_cast<const float*>(tile), tokens, kv_.layout().head_size};
  }

  const kv_store& kv_;
  std::int64_t layer_, head_;
  std::span<const block_id> blocks_;
};

/// One query of one head over keys 0 .. position.
void attend(const head_tiles& tiles, std::int64_t block_tokens, std::int64_t position,
            Eigen::Map<const Eigen::VectorXf> q, Eigen::VectorXf& scores,
            Eigen::Map<Eigen::VectorXf> out) {
  std::int64_t keys = position + 1;
  scores.resize(keys);
  for (std::int64_t at = 0; at < keys; at += block_tokens) {
    std::int64_t here = std::min(block_tokens, keys - at);
    tile_map tile = tiles.keys(at / block_tokens, here);
    for (std::int64_t i = 0; i < here; ++i) {
      scores[at + i] = tile.row(i).dot(q);
    }
  }
  scores *= 1 / std::sqrt(static_cast<float>(q.size()));
  scores.array() -= scores.maxCoeff();
  scores = scores.array().exp();
  out.setZero();
  float sum = 0;
  for (std::int64_t at = 0; at < keys; at += block_tokens) {
    std::int64_t here = std::min(block_tokens, keys - at);
    tile_map tile = tiles.values(at / block_tokens, here);
    for (std::int64_t i = 0; i < here; ++i) {
      out += scores[at + i] * tile.row(i).transpose();
      sum += scores[at + i];
    }
  }
  out /= sum;
}

void attention(const kv_store& kv, std::int64_t layer, const head_shape& heads,
               const attention_rows& rows, const float* q, std::int64_t q_stride, float* out) {
  std::int64_t group = heads.heads / heads.kv_heads;
  std::int64_t out_stride = heads.heads * heads.head_size;
  Eigen::VectorXf scores;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    head_tiles tiles{kv, layer, head / group, rows.blocks};
    for (std::size_t i = 0; i < rows.positions.size(); ++i) {
      std::int64_t row = rows.first_row + static_cast<std::int64_t>(i);
      attend(tiles, kv.layout().block_tokens, rows.positions[i],
             {q + row * q_stride + head * heads.head_size, heads.head_size}, scores,
             {out + row * out_stride + head * heads.head_size, heads.head_size});
    }
  }
}

}  // namespace

const decoder_kernels& reference_kernels() {
  static const decoder_kernels kernels{rms_norm, gate, rotate, store, attention};
  return kernels;
}

}  // namespace refrain
