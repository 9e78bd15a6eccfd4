// The two kinds of tokenizers behind one interface: text without special tokens to tokens, and a
// token to its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/model_files/gguf_file.hpp"
#include "gpu/model_files/splitters.hpp"
#include "gpu/model_files/vocabulary.hpp"

namespace refrain {

class piece_encoder {
 public:
  virtual ~piece_encoder() = default;

  /// Appends the tokens of a text that is not empty: a whole one, or what lies between special
  /// tokens.
  virtual void encode(std::string_view text, std::vector<token_id>& out) const = 0;
  /// Appends the bytes of a token that is neither control nor user-defined.
  virtual void append_bytes(token_id token, std::string& out) const = 0;
  /// Whether a blank is put before each text, to be taken off again.
  virtual bool puts_blank_first() const { return false; }
};

/// One merge of two tokens to a third; earlier ones go first.
struct token_merge {
  token_id left, right, merged;
};

/// Byte-level BPE over `words`, which must outlive it.
std::unique_ptr<piece_encoder> make_byte_pairs(const vocabulary& words,
                                               const std::vector<token_merge>& merges,
                                               const splitter& rule);
/// Reads tokenizer.ggml.merges. Throws input_error naming the key.
std::vector<token_merge> read_merges(const gguf_file& file, const vocabulary& words);
/// The text under which a byte-level vocabulary has a byte.
std::string byte_text(std::uint8_t byte);

/// SentencePiece's BPE over `words` with scores, which must outlive it. `blank_first` puts a blank
/// before a text.
std::unique_ptr<piece_encoder> make_sentence_pieces(const vocabulary& words, bool blank_first);

}  // namespace refrain
