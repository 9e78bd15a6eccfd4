#include "gpu/model_files/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/model_files/llama_file.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::string_view kind_key = "tokenizer.ggml.model";
constexpr std::string_view splitter_key = "tokenizer.ggml.pre";
constexpr std::string_view blank_key = "tokenizer.ggml.add_space_prefix";

constexpr std::string_view tiny_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}";

std::string splitter_names() {
  std::string names;
  for (const splitter& each : splitters()) {
    names += (names.empty() ? "" : ", ") + std::string{each.name};
    for (std::string_view other : each.other_names) {
      names += ", " + std::string{other};
    }
  }
  return names;
}

}  // namespace

tokenizer::tokenizer(const gguf_file& file)
    : where_{file.path()}, template_text_{file.text("tokenizer.chat_template").value_or("")} {
  std::optional<std::string_view> kind = file.text(kind_key);
  if (!kind) {
    file.fail_at_key(kind_key, "is missing");
  }
  *words_ = read_vocabulary(file);
  if (*kind == "gpt2") {
    kind_ = "gpt2";
    read_byte_pairs(file);
  } else if (*kind == "llama") {
    kind_ = "llama";
    read_sentence_pieces(file);
  } else {
    file.fail_at_key(kind_key,
                     fmt::format("is {}; tokenizers \"gpt2\" and \"llama\" are implemented",
                                 quoted_name(*kind)));
  }
  words_->add_bos = file.flag("tokenizer.ggml.add_bos_token").value_or(words_->add_bos);
  words_->add_eos = file.flag("tokenizer.ggml.add_eos_token").value_or(words_->add_eos);
  for (auto [adds, id, key] :
       {std::tuple{words_->add_bos, words_->bos, "tokenizer.ggml.bos_token_id"},
        std::tuple{words_->add_eos, words_->eos, "tokenizer.ggml.eos_token_id"}}) {
    if (adds && !id) {
      file.fail_at_key(key, "is missing, though it is to be added");
    }
  }
  index_special();
}

void tokenizer::read_byte_pairs(const gguf_file& file) {
  std::string_view name = file.text(splitter_key).value_or("");
  const splitter* rule = find_splitter(name);
  if (rule == nullptr) {
    file.fail_at_key(splitter_key,
                     fmt::format("{}; known are {}",
                                 name.empty() ? "is missing, so pieces of text are not defined"
                                              : "is " + quoted_name(name),
                                 splitter_names()));
  }
  if (file.flag(blank_key).value_or(false)) {
    file.fail_at_key(blank_key, "a blank before byte-level texts is not implemented");
  }
  splitter_name_ = rule->name;
  words_->add_bos = rule->add_bos && words_->bos;
  encoder_ = make_byte_pairs(*words_, read_merges(file, *words_), *rule);
}

void tokenizer::read_sentence_pieces(const gguf_file& file) {
  if (words_->scores.empty()) {
    file.fail_at_key("tokenizer.ggml.scores", "is missing");
  }
  constexpr std::string_view blanks_key = "tokenizer.ggml.remove_extra_whitespaces";
  if (file.flag(blanks_key).value_or(false)) {
    file.fail_at_key(blanks_key, "the removal of blanks is not implemented");
  }
  words_->add_bos = words_->bos.has_value();
  encoder_ = make_sentence_pieces(*words_, file.flag(blank_key).value_or(true));
}

tokenizer tokenizer::tiny() {
  tokenizer out;
  out.where_ = tiny_name;
  out.kind_ = "gpt2";
  const splitter* rule = find_splitter("gpt-2");
  out.splitter_name_ = rule->name;
  out.template_text_ = tiny_template;
  vocabulary& words = *out.words_;
  for (unsigned byte = 0; byte < 256; ++byte) {
    words.texts.push_back(byte_text(static_cast<std::uint8_t>(byte)));
  }
  words.kinds.assign(words.size(), token_kind::normal);
  for (std::string_view text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    words.texts.emplace_back(text);
    words.kinds.push_back(token_kind::control);
  }
  words.eos = static_cast<token_id>(words.size() - 1);
  words.index();
  REFRAIN_ASSERT(static_cast<std::int64_t>(words.size()) == tiny_vocabulary);
  out.encoder_ = make_byte_pairs(words, {}, *rule);
  out.index_special();
  return out;
}

void tokenizer::index_special() {
  special_.resize(256);
  for (std::size_t i = 0; i < words_->size(); ++i) {
    token_kind kind = words_->kinds[i];
    const std::string& text = words_->texts[i];
    if ((kind == token_kind::control || kind == token_kind::user_defined) && !text.empty()) {
      special_[static_cast<unsigned char>(text.front())].push_back(static_cast<token_id>(i));
    }
  }
  for (std::vector<token_id>& each : special_) {
    std::stable_sort(each.begin(), each.end(), [&](token_id a, token_id b) {
      return words_->texts[static_cast<std::size_t>(a)].size() >
             words_->texts[static_cast<std::size_t>(b)].size();
    });
  }
}

/// The special token with which the text begins, or -1.
token_id tokenizer::special_at(std::string_view text, bool control_tokens) const {
  for (token_id token : special_[static_cast<unsigned char>(text.front())]) {
    auto at = static_cast<std::size_t>(token);
    if ((control_tokens || words_->kinds[at] == token_kind::user_defined) &&
        text.starts_with(words_->texts[at])) {
      return token;
    }
  }
  return -1;
}

/// `trusts(at)`: whether a control token may begin at a byte; asked for ascending ones.
template <class Trusts>
std::vector<token_id> tokenizer::encode_text(std::string_view text, Trusts trusts) const {
  std::vector<token_id> out;
  std::size_t begin = 0;
  auto encode_until = [&](std::size_t end) {
    if (end > begin) {
      encoder_->encode(text.substr(begin, end - begin), out);
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    token_id special = special_at(text.substr(at), trusts(at));
    if (special < 0) {
      ++at;
      continue;
    }
    encode_until(at);
    out.push_back(special);
    at += words_->texts[static_cast<std::size_t>(special)].size();
    begin = at;
  }
  encode_until(text.size());
  return out;
}

std::vector<token_id> tokenizer::encode(std::string_view text, encode_options options) const {
  std::vector<token_id> out =
      encode_text(text, [&](std::size_t) { return options.control_tokens; });
  if (options.ends && words_->add_bos) {
    out.insert(out.begin(), *words_->bos);
  }
  if (options.ends && words_->add_eos) {
    out.push_back(*words_->eos);
  }
  return out;
}

chat_template tokenizer::chat() const {
  if (template_text_.empty()) {
    throw input_error{where_, "key \"tokenizer.chat_template\": is missing"};
  }
  auto text_of = [&](std::optional<token_id> token) {
    return token ? words_->texts[static_cast<std::size_t>(*token)] : std::string{};
  };
  return {where_, template_text_, text_of(words_->bos), text_of(words_->eos)};
}

std::vector<token_id> tokenizer::encode_chat(std::span<const chat_message> messages,
                                             bool start_answer) const {
  chat_text rendered = chat().render(messages, start_answer);
  auto content = rendered.contents.begin();
  return encode_text(rendered.text, [&](std::size_t at) {
    while (content != rendered.contents.end() && content->second <= at) {
      ++content;
    }
    return content == rendered.contents.end() || at < content->first;
  });
}

std::string tokenizer::decode(std::span<const token_id> tokens, bool control_tokens) const {
  std::string out;
  bool first = true;
  for (token_id token : tokens) {
    REFRAIN_ASSERT(token >= 0 && static_cast<std::size_t>(token) < words_->size());
    auto at = static_cast<std::size_t>(token);
    token_kind kind = words_->kinds[at];
    bool special = kind == token_kind::control || kind == token_kind::user_defined;
    if (kind == token_kind::user_defined || (kind == token_kind::control && control_tokens)) {
      out += words_->texts[at];
    }
    if (special) {
      first = true;  // a blank was put behind it, too
      continue;
    }
    std::size_t begin = out.size();
    encoder_->append_bytes(token, out);
    if (first && encoder_->puts_blank_first() && out.size() > begin && out[begin] == ' ') {
      out.erase(begin, 1);
    }
    first = false;
  }
  return out;
}

std::string tokenizer::bytes_of(token_id token) const {
  REFRAIN_ASSERT(token >= 0 && static_cast<std::size_t>(token) < words_->size());
  auto at = static_cast<std::size_t>(token);
  std::string out;
  if (words_->kinds[at] == token_kind::control || words_->kinds[at] == token_kind::user_defined) {
    return words_->texts[at];
  }
  encoder_->append_bytes(token, out);
  return out;
}

bool tokenizer::ends_generation(token_id token) const {
  const std::vector<token_id>& ends = words_->ends_of_generation;
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

tokenizer load_tokenizer(const std::string& name_or_path) {
  if (name_or_path == tiny_name) {
    return tokenizer::tiny();
  }
  check_model_path(name_or_path);
  return tokenizer{gguf_file{name_or_path}};
}

}  // namespace refrain
