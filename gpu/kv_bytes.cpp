#include "gpu/kv_bytes.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "gpu/kv_run.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

// Numbers of headers are written byte by byte; payloads and what is hashed lie in memory that way.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "refrn-kv";
constexpr std::uint32_t version = 1;
constexpr std::size_t precision_size = 16;
constexpr std::size_t versioned_size = 12;  // magic and version, the same in every version
constexpr std::size_t header_size = 104;
constexpr std::size_t checksum_size = 8;

/// Appends numbers in `size` bytes, the lowest first.
void append(std::vector<std::byte>& out, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

void append_count(std::vector<std::byte>& out, std::int64_t value) {
  REFRAIN_ASSERT(value >= 0 && value <= std::numeric_limits<std::uint32_t>::max());
  append(out, static_cast<std::uint64_t>(value), 4);
}

void append(std::vector<std::byte>& out, std::string_view text, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    out.push_back(i < text.size() ? static_cast<std::byte>(text[i]) : std::byte{0});
  }
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

/// The block's filled slots. `blocks` is the block alone.
kv_run filled(std::span<const block_id> blocks, const kv_block_contents& contents) {
  return {.blocks = blocks, .first = contents.first, .tokens = contents.tokens};
}

}  // namespace

token_chain::token_chain(std::uint64_t salt)
    : state_{XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }} {
  REFRAIN_ASSERT(state_ != nullptr);
  XXH3_128bits_reset(state_.get());
  XXH3_128bits_update(state_.get(), &salt, sizeof salt);
}

void token_chain::add(std::span<const token_id> tokens) {
  XXH3_128bits_update(state_.get(), tokens.data(), tokens.size_bytes());
}

exact_fingerprint token_chain::tokens() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {.high = hash.high64, .low = hash.low64};
}

kv_bytes::kv_bytes(const llama_weights& weights, std::string_view precision,
                   const kv_layout& layout)
    : layout_{layout},
      model_{weights.fingerprint},
      precision_{precision},
      rotary_size_{weights.shape.rotary_size},
      adjacent_pairs_{weights.shape.adjacent_pairs} {
  REFRAIN_ASSERT(precision.size() <= precision_size);
  REFRAIN_ASSERT(layout == layout_of(weights.shape, layout.block_tokens, layout.type));
}

std::size_t kv_bytes::size_of(std::int64_t tokens) const {
  return header_size + static_cast<std::size_t>(bytes_of(layout_, tokens)) + checksum_size;
}

std::vector<std::byte> kv_bytes::header(const kv_block_contents& contents) const {
  REFRAIN_ASSERT(contents.first >= 0 && contents.first % layout_.block_tokens == 0);
  REFRAIN_ASSERT(contents.tokens >= 1 && contents.tokens <= layout_.block_tokens);
  std::vector<std::byte> out;
  append(out, magic, magic.size());
  append(out, version, 4);
  append(out, static_cast<std::uint32_t>(layout_.type), 4);
  append(out, model_[0], 8);
  append(out, model_[1], 8);
  append(out, precision_, precision_size);
  append_count(out, layout_.layers);
  append_count(out, layout_.kv_heads);
  append_count(out, layout_.head_size);
  append_count(out, layout_.block_tokens);
  append_count(out, rotary_size_);
  append_count(out, adjacent_pairs_ ? 1 : 0);
  append(out, static_cast<std::uint64_t>(contents.first), 8);
  append(out, static_cast<std::uint64_t>(contents.tokens), 8);
  append(out, contents.chain.high, 8);
  append(out, contents.chain.low, 8);
  REFRAIN_ASSERT(out.size() == header_size);
  return out;
}

std::vector<std::byte> kv_bytes::export_block(const kv_store& kv, block_id block,
                                              const kv_block_contents& contents) const {
  REFRAIN_ASSERT(kv.layout() == layout_);
  for (std::int64_t slot = 0; slot < contents.tokens; ++slot) {
    if (kv.computed_at(block, slot) != contents.first + slot) {
      throw run_error{fmt::format(
          "KV of position {} (block {}, slot {}) was not computed there and is not exported",
          contents.first + slot, block.get(), slot)};
    }
  }
  std::vector<std::byte> out = header(contents);
  out.reserve(size_of(contents.tokens));
  out.resize(size_of(contents.tokens) - checksum_size);
  gather(kv, filled({&block, 1}, contents), std::span{out}.subspan(header_size));
  append(out, checksum(out), checksum_size);
  return out;
}

kv_import kv_bytes::check(std::span<const std::byte> bytes, const kv_block_contents& wanted) const {
  const std::vector<std::byte> expected = header(wanted);
  const std::span<const std::byte> start = std::span{expected}.first(versioned_size);
  if (bytes.size() < start.size() || !equal(bytes.first(magic.size()), start.first(magic.size()))) {
    return kv_import::damaged;
  }
  if (!equal(bytes.first(start.size()), start)) {
    return kv_import::miss;  // what follows is laid out as that version says
  }
  if (bytes.size() < header_size + checksum_size) {
    return kv_import::damaged;
  }
  auto whole = bytes.first(bytes.size() - checksum_size);
  std::vector<std::byte> sum;
  append(sum, checksum(whole), checksum_size);
  if (!equal(bytes.last(checksum_size), sum)) {
    return kv_import::damaged;
  }
  if (!equal(bytes.first(header_size), expected)) {
    return kv_import::miss;
  }
  return bytes.size() == size_of(wanted.tokens) ? kv_import::imported : kv_import::damaged;
}

kv_import kv_bytes::import_block(std::span<const std::byte> bytes, const kv_block_contents& wanted,
                                 kv_store& kv, block_id block) {
  REFRAIN_ASSERT(kv.layout() == layout_);
  kv_import outcome = check(bytes, wanted);
  switch (outcome) {
    case kv_import::miss:
      ++counts_.misses;
      return outcome;
    case kv_import::damaged:
      ++counts_.damaged;
      return outcome;
    case kv_import::imported:
      ++counts_.imported;
  }
  scatter(kv, filled({&block, 1}, wanted),
          bytes.subspan(header_size, bytes.size() - header_size - checksum_size));
  for (std::int64_t slot = 0; slot < layout_.block_tokens; ++slot) {
    if (slot < wanted.tokens) {
      kv.record_computed(block, slot, wanted.first + slot);
    } else {
      kv.record_other(block, slot);  // what a former owner computed is not part of it
    }
  }
  return outcome;
}

}  // namespace refrain
