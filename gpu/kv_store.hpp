// The bytes of KV blocks. A block holds keys and values of `block_tokens` consecutive tokens in all
// layers, [layer][K, V][kv head][token][dim]: one (layer, head) tile is contiguous for a kernel,
// and a whole block is one copy for a transfer. Keys are stored rotated to a position; the store
// remembers which, so that keys that were moved are never taken for computed ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "gpu/block_pool.hpp"
#include "gpu/weights.hpp"

namespace refrain {

/// Numbers that keys and values are stored as.
enum class kv_type : std::uint32_t { fp32 = 0, bf16 = 1 };

std::string_view name_of(kv_type type);

/// Dimensions of a block.
struct kv_layout {
  std::int64_t layers = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t block_tokens = 16;
  kv_type type = kv_type::fp32;

  std::int64_t element_bytes() const { return type == kv_type::fp32 ? 4 : 2; }
  std::int64_t tile_bytes() const { return block_tokens * head_size * element_bytes(); }
  std::int64_t block_bytes() const { return layers * 2 * kv_heads * tile_bytes(); }
  std::int64_t token_bytes() const { return block_bytes() / block_tokens; }

  friend bool operator==(const kv_layout&, const kv_layout&) = default;
};

/// The layout of a model's KV.
kv_layout layout_of(const llama_shape& shape, std::int64_t block_tokens, kv_type type);

/// Memory for a number of blocks. Pages are the operating system's zeros until they are written, so
/// a large store costs what is used of it. Which blocks are in use is a block_pool's matter.
class kv_store {
 public:
  /// Throws run_error where that much cannot be had.
  kv_store(const kv_layout& layout, std::int64_t blocks);
  kv_store(const kv_store&) = delete;

  const kv_layout& layout() const { return layout_; }
  std::int64_t blocks() const { return blocks_; }

  /// All bytes of a block.
  std::span<std::byte> block(block_id id);
  std::span<const std::byte> block(block_id id) const;
  /// Keys of one head in one layer of a block, [block_tokens][head_size]; the values follow at
  /// `values`.
  std::byte* keys(block_id id, std::int64_t layer, std::int64_t head) const {
    return bytes_.get() + id * layout_.block_bytes() +
           (2 * layer * layout_.kv_heads + head) * layout_.tile_bytes();
  }
  std::byte* values(block_id id, std::int64_t layer, std::int64_t head) const {
    return keys(id, layer, head) + layout_.kv_heads * layout_.tile_bytes();
  }

  /// The position at which a slot's token was computed, its keys rotated to it once; nothing where
  /// keys were moved to or that was never written.
  std::optional<std::int64_t> computed_at(block_id id, std::int64_t slot) const;
  /// For those who write a slot in all layers: it was computed at `position`, or otherwise.
  void record_computed(block_id id, std::int64_t slot, std::int64_t position);
  void record_other(block_id id, std::int64_t slot);

 private:
  std::uint32_t& record(block_id id, std::int64_t slot) const;

  kv_layout layout_;
  std::int64_t blocks_;
  std::shared_ptr<std::byte> bytes_;
  std::shared_ptr<std::uint32_t> records_;  ///< [block][slot], position + 1; 0 = not computed
};

}  // namespace refrain
