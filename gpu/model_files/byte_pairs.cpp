// Byte-level BPE as GPT-2 brought it (Radford et al., 2019): a text is split into pieces, each byte
// of a piece starts as the token of its own, and neighbours are merged in the order of the file's
// list. Bytes stand in the vocabulary as printable characters: 33-126, 161-172 and 174-255 as
// themselves, the others from U+0100 on in their order. A byte that the vocabulary does not have is
// left out, as PyPI's `tokenizers` leaves it out.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <array>
#include <limits>

#include "gpu/model_files/merge_queue.hpp"
#include "gpu/model_files/piece_encoder.hpp"

namespace refrain {
namespace {

constexpr std::string_view merges_key = "tokenizer.ggml.merges";

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// The character of each byte.
constexpr std::array<char32_t, 256> byte_characters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return characters;
}();

constexpr std::size_t alphabet_end = 256 + 68;

/// The byte of each character of the alphabet, -1 where there is none.
constexpr std::array<int, alphabet_end> character_bytes = [] {
  std::array<int, alphabet_end> bytes{};
  for (int& each : bytes) {
    each = -1;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[byte_characters[byte]] = static_cast<int>(byte);
  }
  return bytes;
}();

std::uint64_t pair_of(token_id left, token_id right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

class byte_pairs final : public piece_encoder {
 public:
  byte_pairs(const vocabulary& words, const std::vector<token_merge>& merges, const splitter& rule)
      : words_{words}, rule_{rule} {
    for (unsigned byte = 0; byte < 256; ++byte) {
      byte_tokens_[byte] = words.find(byte_text(static_cast<std::uint8_t>(byte))).value_or(-1);
    }
    merges_.reserve(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i) {
      merges_.emplace(pair_of(merges[i].left, merges[i].right),
                      merge_result{static_cast<double>(i), merges[i].merged});
    }
  }

  void encode(std::string_view text, std::vector<token_id>& out) const override {
    std::vector<character> characters = characters_of(text);
    std::vector<std::size_t> begins;
    rule_.split(characters, begins);
    begins.push_back(characters.size() - 1);
    std::vector<token_id> symbols;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      std::size_t begin = characters[begins[i]].begin;
      encode_piece(text.substr(begin, characters[begins[i + 1]].begin - begin), symbols, out);
    }
  }

  void append_bytes(token_id token, std::string& out) const override {
    std::string_view text = words_.texts[static_cast<std::size_t>(token)];
    std::vector<character> characters = characters_of(text);
    for (std::size_t i = 0; i + 1 < characters.size(); ++i) {
      const character& each = characters[i];
      if (each.code < alphabet_end && character_bytes[each.code] >= 0) {
        out += static_cast<char>(character_bytes[each.code]);
      } else {
        out += text.substr(each.begin, characters[i + 1].begin - each.begin);
      }
    }
  }

 private:
  void encode_piece(std::string_view piece, std::vector<token_id>& symbols,
                    std::vector<token_id>& out) const {
    if (rule_.whole_pieces_first) {
      std::string text;
      for (char c : piece) {
        append_utf8(text, byte_characters[static_cast<unsigned char>(c)]);
      }
      if (std::optional<token_id> whole = words_.find(text)) {
        out.push_back(*whole);
        return;
      }
    }
    symbols.clear();
    for (char c : piece) {
      if (token_id token = byte_tokens_[static_cast<unsigned char>(c)]; token >= 0) {
        symbols.push_back(token);
      }
    }
    merge_all(symbols, [&](token_id left, token_id right) {
      auto found = merges_.find(pair_of(left, right));
      return found == merges_.end() ? std::nullopt : std::optional{found->second};
    });
    out.insert(out.end(), symbols.begin(), symbols.end());
  }

  const vocabulary& words_;
  const splitter& rule_;
  std::array<token_id, 256> byte_tokens_{};
  absl::flat_hash_map<std::uint64_t, merge_result> merges_;
};

}  // namespace

std::string byte_text(std::uint8_t byte) {
  std::string text;
  append_utf8(text, byte_characters[byte]);
  return text;
}

std::vector<token_merge> read_merges(const gguf_file& file, const vocabulary& words) {
  std::optional<std::vector<std::string_view>> lines = file.texts(merges_key);
  if (!lines) {
    file.fail_at_key(merges_key, "is missing");
  }
  std::vector<token_merge> merges;
  merges.reserve(lines->size());
  for (std::string_view line : *lines) {
    std::size_t blank = line.find(' ', 1);
    if (blank == std::string_view::npos) {
      file.fail_at_key(merges_key, fmt::format("element {} is {}; expected two tokens with a blank "
                                               "between them",
                                               merges.size(), quoted_name(line)));
    }
    std::string_view left = line.substr(0, blank);
    std::string_view right = line.substr(blank + 1);
    std::optional<token_id> ids[] = {words.find(left), words.find(right),
                                     words.find(std::string{left} + std::string{right})};
    if (!ids[0] || !ids[1] || !ids[2]) {
      file.fail_at_key(merges_key,
                       fmt::format("element {} is {}, whose parts or whole are no tokens",
                                   merges.size(), quoted_name(line)));
    }
    merges.push_back({*ids[0], *ids[1], *ids[2]});
  }
  return merges;
}

std::unique_ptr<piece_encoder> make_byte_pairs(const vocabulary& words,
                                               const std::vector<token_merge>& merges,
                                               const splitter& rule) {
  return std::make_unique<byte_pairs>(words, merges, rule);
}

}  // namespace refrain
