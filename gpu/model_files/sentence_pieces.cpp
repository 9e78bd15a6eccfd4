// SentencePiece's BPE (Kudo and Richardson, 2018) as Llama 1 and 2 use it: blanks become U+2581, a
// text is cut into characters, and the neighbours whose merged text is the token of highest score
// are merged first. Characters without a token are written as the tokens of their bytes, where the
// vocabulary has them, else as the unknown token. Neither Unicode normalisation nor removal of
// blanks: such models do none.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <array>

#include "gpu/model_files/merge_queue.hpp"
#include "gpu/model_files/piece_encoder.hpp"

namespace refrain {
namespace {

constexpr std::string_view blank_text = "\xe2\x96\x81";  // U+2581

/// The byte that a token such as <0x0A> stands for.
std::optional<std::uint8_t> byte_of(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') {
    return std::nullopt;
  }
  std::size_t high = digits.find(text[3]);
  std::size_t low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(high * 16 + low);
}

class sentence_pieces final : public piece_encoder {
 public:
  sentence_pieces(const vocabulary& words, bool blank_first)
      : words_{words}, blank_first_{blank_first} {
    byte_tokens_.fill(-1);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words.kinds[i] == token_kind::byte) {
        if (std::optional<std::uint8_t> byte = byte_of(words.texts[i])) {
          byte_tokens_[*byte] = static_cast<token_id>(i);
        }
      }
    }
  }

  bool puts_blank_first() const override { return blank_first_; }

  void encode(std::string_view text, std::vector<token_id>& out) const override {
    std::string marked = blank_first_ ? std::string{blank_text} : std::string{};
    for (char c : text) {
      c == ' ' ? marked.append(blank_text) : marked.append(1, c);
    }
    pieces work{words_};
    std::size_t at = 0;
    while (at < marked.size()) {
      std::size_t size = first_character_bytes(std::string_view{marked}.substr(at));
      work.add(std::string_view{marked}.substr(at, size));
      at += size;
    }
    for (std::string_view piece : work.merged()) {
      emit(piece, out);
    }
  }

  void append_bytes(token_id token, std::string& out) const override {
    std::string_view text = words_.texts[static_cast<std::size_t>(token)];
    if (words_.kinds[static_cast<std::size_t>(token)] == token_kind::byte) {
      if (std::optional<std::uint8_t> byte = byte_of(text)) {
        out += static_cast<char>(*byte);
        return;
      }
    }
    while (!text.empty()) {
      bool blank = text.starts_with(blank_text);
      out += blank ? ' ' : text.front();
      text.remove_prefix(blank ? blank_text.size() : 1);
    }
  }

 private:
  /// Symbols are numbers given out to texts as they come up: characters need not be tokens, and two
  /// neighbours of no token's text may still grow together from other sides.
  class pieces {
   public:
    explicit pieces(const vocabulary& words) : words_{words} {}

    void add(std::string_view character) { symbols_.push_back(number_of(character)); }

    std::vector<std::string_view> merged() {
      merge_all(symbols_, [&](token_id left, token_id right) { return find(left, right); });
      std::vector<std::string_view> out;
      for (token_id symbol : symbols_) {
        out.push_back(texts_[static_cast<std::size_t>(symbol)]);
      }
      return out;
    }

   private:
    token_id number_of(std::string_view text) {
      auto [at, added] = numbers_.emplace(text, static_cast<token_id>(texts_.size()));
      if (added) {
        texts_.push_back(at->first);
      }
      return at->second;
    }

    std::optional<merge_result> find(token_id left, token_id right) {
      std::string text{texts_[static_cast<std::size_t>(left)]};
      text += texts_[static_cast<std::size_t>(right)];
      std::optional<token_id> token = words_.find(text);
      if (!token || words_.kinds[static_cast<std::size_t>(*token)] != token_kind::normal) {
        return std::nullopt;
      }
      std::string_view kept = words_.texts[static_cast<std::size_t>(*token)];
      return merge_result{-double{words_.scores[static_cast<std::size_t>(*token)]},
                          number_of(kept)};
    }

    const vocabulary& words_;
    std::vector<token_id> symbols_;
    absl::flat_hash_map<std::string_view, token_id> numbers_;
    std::vector<std::string_view> texts_;  // by number; views of the text or of the vocabulary
  };

  void emit(std::string_view piece, std::vector<token_id>& out) const {
    std::optional<token_id> token = words_.find(piece);
    if (token && words_.kinds[static_cast<std::size_t>(*token)] == token_kind::normal) {
      out.push_back(*token);
      return;
    }
    for (char c : piece) {
      token_id byte = byte_tokens_[static_cast<unsigned char>(c)];
      if (byte >= 0) {
        out.push_back(byte);
      } else if (words_.unknown) {
        out.push_back(*words_.unknown);
        return;
      }
    }
  }

  const vocabulary& words_;
  bool blank_first_;
  std::array<token_id, 256> byte_tokens_{};
};

}  // namespace

std::unique_ptr<piece_encoder> make_sentence_pieces(const vocabulary& words, bool blank_first) {
  return std::make_unique<sentence_pieces>(words, blank_first);
}

}  // namespace refrain
