#include "gpu/kv_rotation.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/cpu/kernels.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// To nearest, ties to even; NaN stays one.
std::uint16_t to_bf16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

void read_row(const std::byte* from, kv_type type, std::span<float> row) {
  if (type == kv_type::fp32) {
    std::memcpy(row.data(), from, row.size_bytes());
    return;
  }
  const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = from_bf16(bits[i]);
  }
}

void write_row(std::span<const float> row, kv_type type, std::byte* to) {
  if (type == kv_type::fp32) {
    std::memcpy(to, row.data(), row.size_bytes());
    return;
  }
  auto* bits = reinterpret_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < row.size(); ++i) {
    bits[i] = to_bf16(row[i]);
  }
}

/// Whether token `i` of `run` was computed where it lies.
bool is_computed(const kv_store& kv, const kv_run& run, std::int64_t i) {
  kv_place place = place_of(run, i, kv.layout().block_tokens);
  return kv.computed_at(place.block, place.slot) == run.first + i;
}

void require_computed(const kv_store& kv, const kv_run& run) {
  for (std::int64_t i = 0; i < run.tokens; ++i) {
    if (!is_computed(kv, run, i)) {
      kv_place place = place_of(run, i, kv.layout().block_tokens);
      throw run_error{
          fmt::format("KV of position {} (block {}, slot {}) was not computed there: KV is moved "
                      "once, from where it was computed, and never from a moved copy",
                      run.first + i, place.block.get(), place.slot)};
    }
  }
}

/// Records the places of `to`, whose contents come from tokens computed at the places of `from`.
void record_copies(kv_store& kv, const kv_run& from, const kv_run& to) {
  for (std::int64_t i = 0; i < to.tokens; ++i) {
    kv_place place = place_of(to, i, kv.layout().block_tokens);
    kv.record_other(place.block, place.slot);
  }
  for (std::int64_t i = 0; i < to.tokens; ++i) {
    REFRAIN_ASSERT(is_computed(kv, from, i));  // else the runs share a place
  }
  for (std::int64_t i = 0; i < to.tokens && from.first == to.first; ++i) {
    kv_place place = place_of(to, i, kv.layout().block_tokens);
    kv.record_computed(place.block, place.slot, to.first + i);
  }
}

/// Of all pairs over a distance in positions.
std::vector<rotation> angles_of(std::int64_t distance, std::span<const double> frequencies) {
  std::vector<rotation> out;
  for (double frequency : frequencies) {
    double angle = static_cast<double>(distance) * frequency;
    out.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return out;
}

}  // namespace

std::vector<double> rotary_frequencies(const llama_weights& weights) {
  const llama_shape& shape = weights.shape;
  const auto size = static_cast<double>(shape.rotary_size);
  std::vector<double> out;
  for (std::int64_t i = 0; i < shape.rotary_size / 2; ++i) {
    double divisor = weights.rotary_divisors.empty()
                         ? 1
                         : double{weights.rotary_divisors[static_cast<std::size_t>(i)]};
    out.push_back(std::pow(shape.rotary_base, -2.0 * static_cast<double>(i) / size) / divisor);
  }
  return out;
}

kv_mover::kv_mover(const llama_weights& weights)
    : frequencies_{rotary_frequencies(weights)},
      head_size_{weights.shape.head_size},
      rotary_size_{weights.shape.rotary_size},
      adjacent_pairs_{weights.shape.adjacent_pairs} {}

void kv_mover::move(kv_store& kv, const kv_run& from, const kv_run& to) const {
  const kv_layout& layout = kv.layout();
  REFRAIN_ASSERT(from.tokens == to.tokens && layout.head_size == head_size_);
  require_computed(kv, from);
  record_copies(kv, from, to);
  const std::vector<rotation> angles = angles_of(to.first - from.first, frequencies_);
  const std::int64_t row_bytes = head_size_ * layout.element_bytes();
  std::vector<float> row(static_cast<std::size_t>(head_size_));
  auto move_tile = [&](const std::byte* in, std::byte* out, bool rotated, std::int64_t tokens) {
    if (!rotated) {
      std::memcpy(out, in, static_cast<std::size_t>(tokens * row_bytes));
      return;
    }
    for (std::int64_t i = 0; i < tokens; ++i) {
      read_row(in + i * row_bytes, layout.type, row);
      reference_kernels().rotate(row.data(), angles.data(), rotary_size_, adjacent_pairs_);
      write_row(row, layout.type, out + i * row_bytes);
    }
  };
  for_each_piece(from, to, layout.block_tokens, [&](std::int64_t i, std::int64_t tokens) {
    kv_place old_place = place_of(from, i, layout.block_tokens);
    kv_place new_place = place_of(to, i, layout.block_tokens);
    const std::byte* in = kv.block(old_place.block).data() + old_place.slot * row_bytes;
    std::byte* out = kv.block(new_place.block).data() + new_place.slot * row_bytes;
    for (std::int64_t tile = 0; tile < layout.layers * 2 * layout.kv_heads; ++tile) {
      bool keys = tile / layout.kv_heads % 2 == 0;
      move_tile(in + tile * layout.tile_bytes(), out + tile * layout.tile_bytes(),
                keys && from.first != to.first, tokens);
    }
  });
}

}  // namespace refrain
