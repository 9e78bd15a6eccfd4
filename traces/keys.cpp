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

  /// Ends the block under way, short; true where there was one.
  bool cut() {
    if (filled_ == 0) {
      return false;
    }
    keys_.emplace_back(key_);
    filled_ = 0;
    return true;
  }
  /// Passes over a content whose blocks have other keys.
  void pass(content_id content, std::int64_t tokens) {
    REFRAIN_ASSERT(filled_ == 0);
    key_ = mix64(mix64(key_, content), static_cast<std::uint64_t>(tokens));
  }
  /// Names all that came so far.
  std::uint64_t so_far() const { return key_ | 1; }

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

/// Cuts a prompt where chunks have blocks of their own.
class chunk_cutter {
 public:
  chunk_cutter(const request& row, const key_scheme& scheme, std::vector<block_key>& keys,
               prompt_layout& layout)
      : row_{row},
        scheme_{scheme},
        keys_{keys},
        layout_{layout},
        between_{row.salt, scheme.block_tokens, keys} {}

  void cut() {
    layout_.block_tokens = scheme_.block_tokens;
    std::int64_t left = row_.input_tokens;
    for (std::size_t i = 0; i < row_.segments.size() && left > 0; ++i) {
      const segment& piece = row_.segments[i];
      std::int64_t tokens = std::min<std::int64_t>(piece.tokens, left);
      left -= tokens;
      if (tokens == 0) {
        continue;
      }
      if ((scheme_.chunk_kinds & kind_bit(piece.kind)) != 0) {
        end_text();
        add_chunk(piece, i, tokens);
      } else {
        between_.append(piece.content, tokens);
      }
      at_ += tokens;
    }
    layout_.prompt_keys = keys_.size();
    if (row_.answer == content_id{} || left > 0) {
      return;
    }
    bool is_chunk = (scheme_.chunk_kinds & kind_bit(segment_kind::answer)) != 0;
    std::int64_t kept = row_.output_tokens - 1;
    if (is_chunk && layout_.tail_begin == at_) {
      layout_.answer_is_chunk = true;
      segment answer{row_.answer, row_.output_tokens, segment_kind::answer};
      append_chunk_keys(chunk_root(row_.salt, answer),
                        token_count{kept / scheme_.block_tokens * scheme_.block_tokens},
                        scheme_.block_tokens, keys_);
    } else {
      between_.append(row_.answer, kept);
    }
  }

 private:
  /// The text since the last chunk is over: its blocks have ends.
  void end_text() {
    between_.cut();
    std::int64_t at = layout_.tail_begin;
    while (at < at_) {
      at = std::min<std::int64_t>(at + scheme_.block_tokens, at_);
      layout_.ends.emplace_back(at);
      layout_.chunk_of.push_back(-1);
    }
    layout_.tail_begin = token_count{at_};
  }

  void add_chunk(const segment& piece, std::size_t index, std::int64_t tokens) {
    chunk_place place{.first_block = static_cast<std::uint32_t>(layout_.ends.size()),
                      .begin = token_count{at_},
                      .end = token_count{at_ + tokens},
                      .context = between_.so_far(),
                      .segment = static_cast<std::uint32_t>(index)};
    append_chunk_keys(chunk_root(row_.salt, piece), token_count{tokens}, scheme_.block_tokens,
                      keys_);
    for (std::int64_t at = 0; at < tokens;) {
      at = std::min<std::int64_t>(at + scheme_.block_tokens, tokens);
      layout_.ends.emplace_back(at_ + at);
      layout_.chunk_of.push_back(static_cast<std::int32_t>(layout_.chunks.size()));
    }
    place.end_block = static_cast<std::uint32_t>(layout_.ends.size());
    layout_.chunks.push_back(place);
    between_.pass(piece.content, tokens);
    layout_.tail_begin = place.end;
  }

  const request& row_;
  const key_scheme& scheme_;
  std::vector<block_key>& keys_;
  prompt_layout& layout_;
  chain between_;
  std::int64_t at_ = 0;
};

}  // namespace

std::int64_t prompt_layout::blocks_for(token_count tokens) const {
  if (tokens > tail_begin) {
    return static_cast<std::int64_t>(ends.size()) +
           (tokens - tail_begin + block_tokens - 1) / block_tokens;
  }
  if (tokens <= 0) {
    return 0;
  }
  return std::lower_bound(ends.begin(), ends.end(), tokens) - ends.begin() + 1;
}

std::uint64_t chunk_root(std::uint64_t salt, const segment& chunk) {
  std::uint64_t root = mix64(0x6368756E6B21u, salt);
  if (chunk.document == content_id{}) {
    return mix64(root, chunk.content);
  }
  root = mix64(mix64(root, 0x646F63u), chunk.document);
  return mix64(mix64(root, chunk.version), chunk.chunk);
}

void append_chunk_keys(std::uint64_t root, token_count tokens, token_count block_tokens,
                       std::vector<block_key>& keys) {
  for (std::int64_t at = 0; at < tokens;) {
    std::int64_t length = std::min<std::int64_t>(block_tokens, tokens - at);
    keys.emplace_back(
        mix64(mix64(root, static_cast<std::uint64_t>(at)), static_cast<std::uint64_t>(length)));
    at += length;
  }
}

void chunk_keys(const request& row, const key_scheme& scheme, std::vector<block_key>& keys,
                prompt_layout& layout) {
  keys.clear();
  layout = {};
  chunk_cutter{row, scheme, keys, layout}.cut();
}

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
