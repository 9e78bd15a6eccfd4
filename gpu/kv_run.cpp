#include "gpu/kv_run.hpp"

#include <algorithm>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {
namespace {

/// Calls `copy(in blocks, in the dense bytes, bytes)` for all that is contiguous in both.
template <class Copy>
void walk(const kv_layout& layout, const kv_run& run, Copy copy) {
  const std::int64_t row_bytes = layout.head_size * layout.element_bytes();
  const std::int64_t tiles = layout.layers * 2 * layout.kv_heads;
  for_each_piece(run, run, layout.block_tokens, [&](std::int64_t i, std::int64_t tokens) {
    kv_place place = place_of(run, i, layout.block_tokens);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      copy(place.block, tile * layout.tile_bytes() + place.slot * row_bytes,
           (tile * run.tokens + i) * row_bytes, static_cast<std::size_t>(tokens * row_bytes));
    }
  });
}

}  // namespace

kv_place place_of(const kv_run& run, std::int64_t i, std::int64_t block_tokens) {
  REFRAIN_ASSERT(run.first >= 0 && i >= 0 && i < run.tokens);
  std::int64_t at = run.first % block_tokens + i;
  auto index = static_cast<std::size_t>(at / block_tokens);
  REFRAIN_ASSERT(index < run.blocks.size());
  return {run.blocks[index], at % block_tokens};
}

std::int64_t bytes_of(const kv_layout& layout, std::int64_t tokens) {
  return tokens * layout.token_bytes();
}

void gather(const kv_store& kv, const kv_run& run, std::span<std::byte> to) {
  REFRAIN_ASSERT(static_cast<std::int64_t>(to.size()) == bytes_of(kv.layout(), run.tokens));
  walk(kv.layout(), run, [&](block_id block, std::int64_t in, std::int64_t out, std::size_t bytes) {
    std::memcpy(to.data() + out, kv.block(block).data() + in, bytes);
  });
}

void scatter(kv_store& kv, const kv_run& run, std::span<const std::byte> from) {
  REFRAIN_ASSERT(static_cast<std::int64_t>(from.size()) == bytes_of(kv.layout(), run.tokens));
  walk(kv.layout(), run, [&](block_id block, std::int64_t in, std::int64_t out, std::size_t bytes) {
    std::memcpy(kv.block(block).data() + in, from.data() + out, bytes);
  });
  for (std::int64_t i = 0; i < run.tokens; ++i) {
    kv_place place = place_of(run, i, kv.layout().block_tokens);
    kv.record_other(place.block, place.slot);
  }
}

}  // namespace refrain
