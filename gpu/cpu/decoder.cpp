#include "gpu/cpu/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gpu/kv_rotation.hpp"
#include "gpu/model_files/encodings.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

/// Rows computed together; longer prompts are cut, so that working memory stays small.
constexpr std::size_t pass_rows = 512;

constexpr std::array<std::pair<std::string_view, cpu_precision>, 4> precisions{
    {{"fp32", cpu_precision::fp32},
     {"fp32_fast", cpu_precision::fp32_fast},
     {"bf16", cpu_precision::bf16},
     {"int8", cpu_precision::int8}}};

std::unique_ptr<linear> make_linear(cpu_precision precision, stacked_weights weights,
                                    std::pmr::memory_resource& memory) {
  switch (precision) {
    case cpu_precision::fp32:
      return make_eigen_linear(weights);
    case cpu_precision::fp32_fast:
      return make_onednn_linear(weights, false, memory);
    case cpu_precision::bf16:
      return make_bf16_linear(weights, memory);
    case cpu_precision::int8:
      return std::ranges::all_of(weights, is_quantised, &weight_matrix::type)
                 ? make_quantised_linear(weights, memory)
                 : make_bf16_linear(weights, memory);
  }
  REFRAIN_ASSERT(false);
}

bool uses_avx512(cpu_precision precision) {
  return precision == cpu_precision::bf16 || precision == cpu_precision::int8;
}

std::vector<float> joined(std::span<const float> a, std::span<const float> b,
                          std::span<const float> c) {
  std::vector<float> all{a.begin(), a.end()};
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

float* sized(std::vector<float>& values, std::size_t rows, std::int64_t columns) {
  values.resize(rows * static_cast<std::size_t>(columns));
  return values.data();
}

void add(std::span<float> to, std::span<const float> what) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] += what[i];
  }
}

/// The rows' keys and values are in the store, in all layers.
void record_computed(kv_store& kv, const attention_rows& rows) {
  const std::int64_t block_tokens = kv.layout().block_tokens;
  for (std::int64_t position : rows.positions) {
    kv.record_computed(rows.blocks[static_cast<std::size_t>(position / block_tokens)],
                       position % block_tokens, position);
  }
}

}  // namespace

std::string_view name_of(cpu_precision precision) {
  return std::ranges::find(precisions, precision,
                           &std::pair<std::string_view, cpu_precision>::second)
      ->first;
}

cpu_precision precision_of(std::string_view name, const std::string& where) {
  std::array<std::string_view, precisions.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = precisions[i].first;
  }
  auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw input_error{where, unknown_name("precision", name, names)};
  }
  cpu_precision precision = precisions[static_cast<std::size_t>(found - names.begin())].second;
  if (uses_avx512(precision) && !avx512_features()) {
    throw input_error{where, fmt::format("{} needs a CPU with AVX-512, its VNNI and its BF16; "
                                         "fp32_fast and fp32 run on this one",
                                         name)};
  }
  return precision;
}

void cpu_decoder::pass::add(const decoder_piece& piece, std::size_t from, std::size_t count) {
  std::size_t first = tokens.size();
  auto new_tokens = piece.tokens.subspan(from, count);
  auto new_positions = piece.positions.subspan(from, count);
  tokens.insert(tokens.end(), new_tokens.begin(), new_tokens.end());
  positions.insert(positions.end(), new_positions.begin(), new_positions.end());
  sequences.push_back({static_cast<std::int64_t>(first), new_positions, piece.blocks});
  bool ends = from + count == piece.tokens.size();
  for (std::size_t row = first; row < tokens.size(); ++row) {
    if (piece.logits == decoder_piece::all ||
        (piece.logits == decoder_piece::last && ends && row + 1 == tokens.size())) {
      wanted.push_back(static_cast<std::int64_t>(row));
    }
  }
}

cpu_decoder::cpu_decoder(std::shared_ptr<const llama_weights> weights, cpu_precision precision,
                         std::int64_t blocks, std::int64_t block_tokens,
                         std::function<bool()> goes_on)
    : weights_{std::move(weights)},
      precision_{precision},
      goes_on_{std::move(goes_on)},
      kernels_{uses_avx512(precision) ? avx512_kernels() : reference_kernels()},
      kv_{layout_of(weights_->shape, block_tokens,
                    uses_avx512(precision) ? kv_type::bf16 : kv_type::fp32),
          blocks},
      frequencies_{rotary_frequencies(*weights_)} {
  for (const llama_layer& from : weights_->layers) {
    stop_if_told();
    auto make = [&](std::initializer_list<weight_matrix> stacked) {
      return make_linear(precision, {stacked.begin(), stacked.size()}, packed_);
    };
    layers_.push_back({.query_key_value = make({from.query, from.key, from.value}),
                       .output = make({from.output}),
                       .gate_and_up = make({from.gate, from.up}),
                       .down = make({from.down}),
                       .biases = joined(from.query_bias, from.key_bias, from.value_bias)});
  }
  // Few rows of logits are ever wanted, so no second copy is packed for many.
  output_ = uses_avx512(precision) ? make_quantised_linear({&weights_->output, 1}, packed_)
                                   : make_linear(precision, {&weights_->output, 1}, packed_);
}

std::span<const float> cpu_decoder::forward(std::span<const decoder_piece> pieces) {
  logits_.clear();
  pass rows;
  for (const decoder_piece& piece : pieces) {
    REFRAIN_ASSERT(piece.tokens.size() == piece.positions.size());
    REFRAIN_ASSERT(std::ranges::is_sorted(piece.positions));
    REFRAIN_ASSERT(piece.tokens.empty() ||
                   piece.positions.back() < std::ssize(piece.blocks) * kv_.layout().block_tokens);
    for (std::size_t from = 0; from < piece.tokens.size();) {
      std::size_t count = std::min(pass_rows - rows.tokens.size(), piece.tokens.size() - from);
      rows.add(piece, from, count);
      from += count;
      if (rows.tokens.size() == pass_rows) {
        run(rows);
        rows = {};
      }
    }
  }
  if (!rows.tokens.empty()) {
    run(rows);
  }
  return logits_;
}

void cpu_decoder::stop_if_told() const {
  if (goes_on_ && !goes_on_()) {
    throw computing_stopped{};
  }
}

void cpu_decoder::run(const pass& rows) {
  const llama_shape& shape = weights_->shape;
  const std::size_t count = rows.tokens.size();
  const auto signed_count = static_cast<std::int64_t>(count);
  embed(rows);
  set_angles(rows);
  float* normed = sized(normed_, count, shape.hidden);
  float* added = sized(added_, count, shape.hidden);
  float* wide = sized(wide_, count, 2 * shape.feed_forward);
  float* gated = sized(gated_, count, shape.feed_forward);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const llama_layer& given = weights_->layers[i];
    stop_if_told();
    kernels_.rms_norm(hidden_.data(), signed_count, shape.hidden, given.attention_norm.data(),
                      shape.norm_epsilon, normed);
    attend(rows, static_cast<std::int64_t>(i));
    layers_[i].output->forward(attended_.data(), signed_count, added);
    add(hidden_, added_);
    stop_if_told();
    kernels_.rms_norm(hidden_.data(), signed_count, shape.hidden, given.feed_forward_norm.data(),
                      shape.norm_epsilon, normed);
    layers_[i].gate_and_up->forward(normed, signed_count, wide);
    kernels_.gate(wide, signed_count, shape.feed_forward, gated);
    layers_[i].down->forward(gated, signed_count, added);
    add(hidden_, added_);
  }
  for (const attention_rows& sequence : rows.sequences) {
    record_computed(kv_, sequence);
  }
  add_output(rows);
}

void cpu_decoder::embed(const pass& rows) {
  const llama_shape& shape = weights_->shape;
  float* to = sized(hidden_, rows.tokens.size(), shape.hidden);
  for (token_id token : rows.tokens) {
    REFRAIN_ASSERT(token >= 0 && token < shape.vocabulary);
    dequantise(weights_->token_embedding.type, row_of(weights_->token_embedding, token),
               {to, static_cast<std::size_t>(shape.hidden)});
    to += shape.hidden;
  }
}

void cpu_decoder::set_angles(const pass& rows) {
  angles_.clear();
  for (std::int64_t position : rows.positions) {
    for (double frequency : frequencies_) {
      double angle = static_cast<double>(position) * frequency;
      angles_.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    }
  }
}

void cpu_decoder::attend(const pass& rows, std::int64_t index) {
  const llama_shape& shape = weights_->shape;
  const layer& packed = layers_[static_cast<std::size_t>(index)];
  const std::int64_t query_size = shape.heads * shape.head_size;
  const std::int64_t stride = query_size + 2 * shape.kv_heads * shape.head_size;
  float* projected = sized(projected_, rows.tokens.size(), stride);
  packed.query_key_value->forward(normed_.data(), static_cast<std::int64_t>(rows.tokens.size()),
                                  projected);
  for (const attention_rows& sequence : rows.sequences) {
    for (std::size_t i = 0; i < sequence.positions.size(); ++i) {
      std::int64_t row = sequence.first_row + static_cast<std::int64_t>(i);
      float* at = projected + row * stride;
      if (!packed.biases.empty()) {
        add({at, static_cast<std::size_t>(stride)}, packed.biases);
      }
      const rotation* angles = angles_.data() + row * (shape.rotary_size / 2);
      for (std::int64_t head = 0; head < shape.heads + shape.kv_heads; ++head) {
        kernels_.rotate(at + head * shape.head_size, angles, shape.rotary_size,
                        shape.adjacent_pairs);
      }
      std::int64_t position = sequence.positions[i];
      block_id block =
          sequence.blocks[static_cast<std::size_t>(position / kv_.layout().block_tokens)];
      std::int64_t offset =
          position % kv_.layout().block_tokens * shape.head_size * kv_.layout().element_bytes();
      for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
        const float* key = at + query_size + head * shape.head_size;
        const float* value = key + shape.kv_heads * shape.head_size;
        kernels_.store(key, shape.head_size, kv_.layout().type,
                       kv_.keys(block, index, head) + offset);
        kernels_.store(value, shape.head_size, kv_.layout().type,
                       kv_.values(block, index, head) + offset);
      }
    }
  }
  float* attended = sized(attended_, rows.tokens.size(), query_size);
  for (const attention_rows& sequence : rows.sequences) {
    stop_if_told();
    kernels_.attention(kv_, index, {shape.heads, shape.kv_heads, shape.head_size}, sequence,
                       projected, stride, attended);
  }
}

void cpu_decoder::add_output(const pass& rows) {
  const llama_shape& shape = weights_->shape;
  if (rows.wanted.empty()) {
    return;
  }
  for (std::size_t i = 0; i < rows.wanted.size(); ++i) {
    kernels_.rms_norm(hidden_.data() + rows.wanted[i] * shape.hidden, 1, shape.hidden,
                      weights_->output_norm.data(), shape.norm_epsilon,
                      normed_.data() + static_cast<std::int64_t>(i) * shape.hidden);
  }
  std::size_t before = logits_.size();
  logits_.resize(before + rows.wanted.size() * static_cast<std::size_t>(shape.vocabulary));
  output_->forward(normed_.data(), static_cast<std::int64_t>(rows.wanted.size()),
                   logits_.data() + before);
}

}  // namespace refrain
