// KV blocks as bytes: what a lower tier, a disk or another process keeps. In front of the payload
// stands everything that must match before it may be used: version, number type, model, precision,
// layout, rotary order, position, count and a fingerprint of all tokens up to the block's end. The
// format is described in docs/kv_bytes.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kv_store.hpp"
#include "gpu/weights.hpp"
#include "traces/corpus/fingerprint.hpp"
#include "traces/integers.hpp"

struct XXH3_state_s;

namespace refrain {

/// What a block's keys and values depend on beside the model: its isolation domain and all tokens
/// from position 0 to its end. XXH3 of 128 bits over the salt and the tokens, little-endian; it
/// goes on from block to block.
class token_chain {
 public:
  /// `salt` is 0 where nothing is isolated, as in `request`.
  explicit token_chain(std::uint64_t salt);

  void add(std::span<const token_id> tokens);
  /// Over all that was added; more may follow.
  exact_fingerprint tokens() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

/// Which tokens a block holds.
struct kv_block_contents {
  std::int64_t first = 0;   ///< position of the first one, to which its key is rotated
  std::int64_t tokens = 0;  ///< filled slots, from the block's first one on
  exact_fingerprint chain;  ///< token_chain up to the last of them
};

/// What became of bytes that were found under a block's key.
enum class kv_import {
  imported,
  miss,     ///< other bytes than asked for: of another model, type, layout, version or other tokens
  damaged,  ///< not as they were written, or not such bytes at all
};

/// How often that was.
struct kv_import_counts {
  std::uint64_t imported = 0;
  std::uint64_t misses = 0;
  std::uint64_t damaged = 0;
};

/// Writes and reads blocks of one model in one layout.
class kv_bytes {
 public:
  /// `precision` names how KV is computed (at most 16 characters, name_of(cpu_precision)): what was
  /// computed otherwise is a miss.
  kv_bytes(const llama_weights& weights, std::string_view precision, const kv_layout& layout);

  /// Bytes of an exported block of that many tokens.
  std::size_t size_of(std::int64_t tokens) const;
  /// The block as bytes. Unfilled slots are left out. Throws run_error where a filled slot was not
  /// computed at its position: moved copies stay where they are.
  std::vector<std::byte> export_block(const kv_store& kv, block_id block,
                                      const kv_block_contents& contents) const;
  /// Fills the block's first slots if the bytes are whole and are what is asked for, else touches
  /// nothing. Which of the three it was is counted.
  kv_import import_block(std::span<const std::byte> bytes, const kv_block_contents& wanted,
                         kv_store& kv, block_id block);

  const kv_import_counts& counts() const { return counts_; }

 private:
  std::vector<std::byte> header(const kv_block_contents& contents) const;
  kv_import check(std::span<const std::byte> bytes, const kv_block_contents& wanted) const;

  kv_layout layout_;
  std::array<std::uint64_t, 2> model_;
  std::string precision_;
  std::int64_t rotary_size_;
  bool adjacent_pairs_;
  kv_import_counts counts_;
};

}  // namespace refrain
