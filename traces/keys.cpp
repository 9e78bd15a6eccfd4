// A block's key chains (content, offset in content, length) of each piece in it onto the key
// before. The same tokens always fall into the same pieces, since blocks are cut from the prompt's
// start and segments from their content's start.
#include "traces/keys.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

std::int64_t nearest_divisor(std::int64_t of, std::int64_t to) {
  std::int64_t best = of;
  for (std::int64_t candidate = 1; candidate <= of; ++candidate) {
    if (of % candidate == 0 && std::abs(candidate - to) < std::abs(best - to)) {
      best = candidate;
    }
  }
  return best;
}

std::size_t keys_of_ids(const request& row, const key_scheme& scheme,
                        std::vector<block_key>& keys) {
  std::int64_t block = scheme.block_tokens;
  std::int64_t parts = 1;
  auto count = static_cast<std::int64_t>(row.blocks.size());
  if (scheme.trace_block_tokens > 0) {
    parts = scheme.trace_block_tokens / block;
    std::int64_t needed =
        scheme.full_blocks_only ? row.input_tokens / block : (row.input_tokens + block - 1) / block;
    count = std::min(count * parts, needed);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t key = row.blocks[static_cast<std::size_t>(i / parts)];
    if (parts > 1) {
      key = mix64(key, static_cast<std::uint64_t>(i % parts));
    }
    keys.emplace_back(row.salt == 0 ? key : mix64(row.salt, key));
  }
  return keys.size();
}

/// Cuts a sequence of contents into blocks and chains their keys.
class chain {
 public:
  chain(std::uint64_t salt, std::int64_t block, std::vector<block_key>& keys)
      : key_{mix64(0x5265667261696E21u, salt)}, block_{block}, keys_{keys} {}

  /// Appends the first `tokens` tokens of a content.
  void append(content_id content, std::int64_t tokens) {
    for (std::int64_t offset = 0; offset < tokens;) {
      std::int64_t length = std::min(tokens - offset, block_ - filled_);
      key_ = mix64(key_, content);
      key_ = mix64(key_, static_cast<std::uint64_t>(offset));
      key_ = mix64(key_, static_cast<std::uint64_t>(length));
      offset += length;
      filled_ += length;
      if (filled_ == block_) {
        keys_.emplace_back(key_);
        filled_ = 0;
      }
    }
  }

 private:
  std::uint64_t key_;
  std::int64_t block_;
  std::int64_t filled_ = 0;  // tokens in the block under way
  std::vector<block_key>& keys_;
};

std::size_t keys_of_segments(const request& row, const key_scheme& scheme,
                             std::vector<block_key>& keys) {
  chain blocks{row.salt, scheme.block_tokens, keys};
  std::int64_t left = row.input_tokens;
  for (const segment& piece : row.segments) {
    std::int64_t tokens = std::min<std::int64_t>(piece.tokens, left);
    blocks.append(piece.content, tokens);
    left -= tokens;
  }
  std::size_t in_prompt = keys.size();
  if (row.answer != content_id{} && left == 0) {
    blocks.append(row.answer, row.output_tokens - 1);
  }
  return in_prompt;
}

}  // namespace

key_scheme::key_scheme(token_count block, token_count trace_block, bool full_only)
    : block_tokens{block}, trace_block_tokens{trace_block}, full_blocks_only{full_only} {
  if (block < 1) {
    throw input_error{"kv.block_tokens", "must be at least 1"};
  }
  if (trace_block > 0 && trace_block % block != 0) {
    throw input_error{"kv.block_tokens",
                      std::to_string(block) + " does not divide the trace's blocks of " +
                          std::to_string(trace_block) + " tokens; the nearest that does is " +
                          std::to_string(nearest_divisor(trace_block, block))};
  }
}

std::size_t block_keys(const request& row, const key_scheme& scheme, std::vector<block_key>& keys) {
  keys.clear();
  return row.blocks.empty() ? keys_of_segments(row, scheme, keys) : keys_of_ids(row, scheme, keys);
}

}  // namespace refrain
