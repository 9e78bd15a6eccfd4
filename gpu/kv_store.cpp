#include "gpu/kv_store.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>

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
      return;
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

}  // namespace refrain
