#include "actors/token_ids.hpp"

#include <algorithm>

#include "traces/random.hpp"

namespace refrain {
namespace {

/// Appends tokens named after `name` until there are `end` of them.
class token_writer {
 public:
  token_writer(std::vector<token_id>& to, std::int64_t vocabulary)
      : to_{to}, vocabulary_{static_cast<std::uint64_t>(vocabulary)} {}

  void write(std::uint64_t name, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t drawn = mix64(name, static_cast<std::uint64_t>(i));
      to_.push_back(static_cast<token_id>(drawn % vocabulary_));
    }
  }

 private:
  std::vector<token_id>& to_;
  std::uint64_t vocabulary_;
};

}  // namespace

std::vector<token_id> tokens_of(const request& row, const key_scheme& scheme,
                                std::span<const block_key> keys, std::int64_t vocabulary,
                                const token_book* words) {
  std::vector<token_id> tokens;
  tokens.reserve(static_cast<std::size_t>(row.input_tokens + row.output_tokens));
  token_writer writer{tokens, vocabulary};
  auto left = [&] { return row.input_tokens - static_cast<std::int64_t>(tokens.size()); };
  if (!row.blocks.empty()) {
    for (block_key key : keys) {
      writer.write(key, std::min(scheme.block_tokens.get(), left()));
    }
  } else {
    for (const segment& piece : row.segments) {
      std::int64_t count = std::min(piece.tokens.get(), left());
      auto text = words != nullptr ? words->tokens(piece.content) : std::span<const token_id>{};
      if (static_cast<std::int64_t>(text.size()) >= count) {
        tokens.insert(tokens.end(), text.begin(), text.begin() + count);
      } else {
        writer.write(piece.content, count);
      }
    }
  }
  constexpr std::uint64_t unnamed = 0x746F6B656E73u;  // apart from all names of content
  writer.write(mix64(unnamed, row.id), left());
  if (row.answer != content_id{}) {
    writer.write(row.answer, row.output_tokens);
  }
  return tokens;
}

}  // namespace refrain
