// Runs of tokens in KV blocks: where each of them lies, and their gathering from blocks into bytes
// without gaps and back. What moves, exports and imports KV walks blocks through these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/kv_store.hpp"

namespace refrain {

/// Consecutive tokens of one sequence. The token at position p lies in slot p % block_tokens, as
/// the decoder puts it.
struct kv_run {
  std::span<const block_id> blocks;  ///< those that hold the run, the first one holds `first`
  std::int64_t first = 0;            ///< position of the first token
  std::int64_t tokens = 0;
};

/// A slot of a block.
struct kv_place {
  block_id block;
  std::int64_t slot;
};

/// Where token `i` of a run lies.
kv_place place_of(const kv_run& run, std::int64_t i, std::int64_t block_tokens);
/// Bytes of keys and values of `tokens` tokens in all layers.
std::int64_t bytes_of(const kv_layout& layout, std::int64_t tokens);

/// Copies a run out of its blocks, [layer][K, V][kv head][token][dim]. `to` has bytes_of() bytes.
void gather(const kv_store& kv, const kv_run& run, std::span<std::byte> to);
/// The opposite. Nothing is known of where these keys were computed, and that is recorded.
void scatter(kv_store& kv, const kv_run& run, std::span<const std::byte> from);

/// Calls `piece(i, tokens)` for pieces of `tokens` tokens that lie in one block of each run; `b`
/// has as many tokens as `a`.
template <class Piece>
void for_each_piece(const kv_run& a, const kv_run& b, std::int64_t block_tokens, Piece piece) {
  for (std::int64_t i = 0; i < a.tokens;) {
    std::int64_t tokens = a.tokens - i;
    for (std::int64_t first : {a.first, b.first}) {
      tokens = std::min(tokens, block_tokens - (first + i) % block_tokens);
    }
    piece(i, tokens);
    i += tokens;
  }
}

}  // namespace refrain
