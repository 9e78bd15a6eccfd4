// Texts as tokens of a model: how many a text has and which, found again by the content that names
// it. Without a book a text has ceil(bytes / 4) tokens and nobody knows which.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// What texts are in a model's vocabulary; may be used from several threads.
class token_book {
 public:
  using encoder = std::function<std::vector<token_id>(std::string_view text)>;

  /// `encode` gives tokens below `vocabulary`, and may be called from several threads.
  token_book(encoder encode, std::int64_t vocabulary)
      : encode_{std::move(encode)}, vocabulary_{vocabulary} {}

  /// The tokens of a text. The first text of a content counts; equal contents are equal texts.
  token_count add(content_id content, std::string_view text);
  /// The tokens of a content; none where it was not added. They stay where they are.
  std::span<const token_id> tokens(content_id content) const;
  std::int64_t vocabulary() const { return vocabulary_; }

 private:
  encoder encode_;
  std::int64_t vocabulary_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<token_id>> texts_;
};

/// The tokens of a text by the book, or as many as its bytes let expect where there is none.
token_count count_tokens(token_book* words, content_id content, std::string_view text);

}  // namespace refrain
