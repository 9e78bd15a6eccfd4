// Text to tokens and back, by the vocabulary in a model file: byte-level BPE (tokenizer.ggml.model
// = gpt2) with one of the known splitters, and SentencePiece's BPE (llama). Special tokens are cut
// out first, the longest that begins leftmost; control tokens only where the caller trusts the
// text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/model_files/chat_template.hpp"
#include "gpu/model_files/piece_encoder.hpp"
#include "gpu/model_files/vocabulary.hpp"

namespace refrain {

/// How a text is taken.
struct encode_options {
  bool control_tokens =
      false;         ///< text such as <|im_start|> means the token; never for users' text
  bool ends = true;  ///< BOS and EOS are added where the file says so
};

/// A tokenizer; safe to use from several threads.
class tokenizer {
 public:
  /// Reads the tokenizer of an open file. Throws input_error naming the key at fault, for another
  /// kind and for a splitter that is not known.
  explicit tokenizer(const gguf_file& file);
  /// The one of builtin:tiny: a token for each byte, and ChatML's marks.
  static tokenizer tiny();

  /// Any bytes, less than 4 GiB.
  std::vector<token_id> encode(std::string_view text, encode_options options = {}) const;
  /// The tokens of a conversation, by the file's template, which says where BOS and EOS stand.
  /// Marks inside of messages are plain text. Throws input_error where the file has no template or
  /// one that is not supported.
  std::vector<token_id> encode_chat(std::span<const chat_message> messages,
                                    bool start_answer = true) const;
  /// The bytes of a text; what the first token's blank was put there for is taken off. Control
  /// tokens leave nothing unless asked for. Bytes of broken UTF-8 come back as they were.
  std::string decode(std::span<const token_id> tokens, bool control_tokens = false) const;
  /// The bytes of one token, which may be half a character.
  std::string bytes_of(token_id token) const;

  const vocabulary& words() const { return *words_; }
  /// Whether an answer ends with this token.
  bool ends_generation(token_id token) const;
  /// As the file has it: gpt2 or llama.
  std::string_view kind() const { return kind_; }
  /// The splitter's name; "" for SentencePiece.
  std::string_view splitter_name() const { return splitter_name_; }
  /// The file's template as it stands there; "" where it has none.
  const std::string& template_text() const { return template_text_; }
  /// The template. Throws as encode_chat does.
  chat_template chat() const;

 private:
  tokenizer() = default;

  void read_byte_pairs(const gguf_file& file);
  void read_sentence_pieces(const gguf_file& file);
  void index_special();
  token_id special_at(std::string_view text, bool control_tokens) const;
  template <class Trusts>
  std::vector<token_id> encode_text(std::string_view text, Trusts trusts) const;

  std::string where_;
  std::string_view kind_;
  std::string_view splitter_name_;
  std::string template_text_;
  std::unique_ptr<vocabulary> words_ = std::make_unique<vocabulary>();
  std::unique_ptr<piece_encoder> encoder_;
  std::vector<std::vector<token_id>> special_;  // by first byte, longest first
};

/// The tokenizer of "builtin:tiny" or of a path ending in .gguf. Throws input_error.
tokenizer load_tokenizer(const std::string& name_or_path);

}  // namespace refrain
