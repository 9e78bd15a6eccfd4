#include "gpu/kv_store.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "traces/error.hpp"

namespace refrain {

std::string_view name_of(kv_type type) {
  return type == kv_type::fp32 ? "fp32" : "bf16";
}

kv_layout layout_of(const llama_shape& shape, std::int64_t block_tokens, kv_type type) {
  return {.layers = shape.layers,
          .kv_heads = shape.kv_heads,
          .head_size = shape.head_size,
          .block_tokens = block_tokens,
          .type = type};
}

kv_store::kv_store(const kv_layout& layout, std::int64_t blocks)
    : layout_{layout}, blocks_{blocks} {
  REFRAIN_ASSERT(blocks >= 0 && layout.block_bytes() > 0);
  std::int64_t size;
  if (!__builtin_mul_overflow(layout.block_bytes(), blocks, &size) && size > 0) {
    void* memory = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
      bytes_ = {static_cast<std::byte*>(memory),
                [size](std::byte* at) { munmap(at, static_cast<std::size_t>(size)); }};
      records_ = {
          static_cast<std::uint32_t*>(std::calloc(
              static_cast<std::size_t>(blocks * layout.block_tokens), sizeof(std::uint32_t))),
          std::free};
      if (records_ != nullptr) {
        return;
      }
    }
  }
  if (blocks > 0) {
    throw run_error{fmt::format("no memory for {} KV blocks of {} bytes: {}", blocks,
                                layout.block_bytes(), std::strerror(errno))};
  }
}

std::span<std::byte> kv_store::block(block_id id) {
  REFRAIN_ASSERT(id < blocks_);
  return {bytes_.get() + id * layout_.block_bytes(),
          static_cast<std::size_t>(layout_.block_bytes())};
}

std::span<const std::byte> kv_store::block(block_id id) const {
  REFRAIN_ASSERT(id < blocks_);
  return {bytes_.get() + id * layout_.block_bytes(),
          static_cast<std::size_t>(layout_.block_bytes())};
}

std::uint32_t& kv_store::record(block_id id, std::int64_t slot) const {
  REFRAIN_ASSERT(id < blocks_ && slot >= 0 && slot < layout_.block_tokens);
  return records_.get()[id * layout_.block_tokens + slot];
}

std::optional<std::int64_t> kv_store::computed_at(block_id id, std::int64_t slot) const {
  std::uint32_t recorded = record(id, slot);
  return recorded > 0 ? std::optional{std::int64_t{recorded} - 1} : std::nullopt;
}

void kv_store::record_computed(block_id id, std::int64_t slot, std::int64_t position) {
  REFRAIN_ASSERT(position >= 0 && position < std::numeric_limits<std::uint32_t>::max());
  record(id, slot) = static_cast<std::uint32_t>(position + 1);
}

void kv_store::record_other(block_id id, std::int64_t slot) {
  record(id, slot) = 0;
}

}  // namespace refrain
