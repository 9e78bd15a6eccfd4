#include "traces/corpus/token_book.hpp"

#include "traces/corpus/text.hpp"

namespace refrain {

token_count token_book::add(content_id content, std::string_view text) {
  std::span<const token_id> known = tokens(content);
  if (known.empty() && !text.empty()) {
    std::vector<token_id> fresh = encode_(text);
    std::lock_guard lock{mutex_};
    known = texts_.try_emplace(content, std::move(fresh)).first->second;
  }
  return token_count{static_cast<std::int64_t>(known.size())};
}

std::span<const token_id> token_book::tokens(content_id content) const {
  std::lock_guard lock{mutex_};
  auto found = texts_.find(content);
  return found == texts_.end() ? std::span<const token_id>{} : found->second;
}

token_count count_tokens(token_book* words, content_id content, std::string_view text) {
  return words != nullptr ? words->add(content, text) : tokens_of_bytes(text.size());
}

}  // namespace refrain
