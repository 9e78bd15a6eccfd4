// `refrain model`: what a model file holds, whether it can be run here, and the tokens of a text.
#include <fmt/format.h>

#include <iostream>
#include <map>

#include "gpu/model_files/characters.hpp"
#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "gpu/model_files/tokenizer.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "traces/error.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

/// A model, and its tokenizer where it has one that can be used.
struct examined_model {
  llama_weights weights;
  std::optional<tokenizer> words;
  std::string why_no_words;
};

examined_model examine(const std::string& name) {
  examined_model model{.weights = load_weights(name)};
  try {
    model.words = load_tokenizer(name);
  } catch (const input_error& error) {
    model.why_no_words = error.what();
  }
  return model;
}

/// Matrices of one encoding, those of one layer counted as often as there are layers.
struct encoding_sum {
  std::int64_t matrices = 0;
  std::int64_t weights = 0;
  std::int64_t bytes = 0;
};

std::map<std::string, encoding_sum> sums_of(const llama_weights& weights) {
  std::map<std::string, encoding_sum> sums;
  auto add = [&](const weight_matrix& matrix) {
    encoding_sum& sum = sums[std::string{encoding_of(matrix.type).name}];
    ++sum.matrices;
    sum.weights += matrix.rows * matrix.columns;
    sum.bytes += static_cast<std::int64_t>(matrix.bytes.size());
  };
  add(weights.token_embedding);
  if (!is_tied(weights)) {
    add(weights.output);
  }
  for (const llama_layer& layer : weights.layers) {
    for (const weight_matrix* each : {&layer.query, &layer.key, &layer.value, &layer.output,
                                      &layer.gate, &layer.up, &layer.down}) {
      add(*each);
    }
  }
  return sums;
}

/// KV of one token in all layers with elements of two bytes.
std::int64_t kv_bytes_per_token(const llama_shape& shape) {
  return 2 * 2 * shape.layers * shape.kv_heads * shape.head_size;
}

std::string fingerprint_text(const llama_weights& weights) {
  return fmt::format("{:016x}{:016x}", weights.fingerprint[0], weights.fingerprint[1]);
}

/// The form of conversations, or why there is none.
std::pair<std::string, std::string> chat_form(const tokenizer& words) {
  try {
    return {std::string{words.chat().form()}, ""};
  } catch (const input_error& error) {
    return {"", error.what()};
  }
}

json shape_document(const llama_shape& shape) {
  return {{"layers", shape.layers},
          {"hidden", shape.hidden},
          {"feed_forward", shape.feed_forward},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"head_size", shape.head_size},
          {"vocabulary", shape.vocabulary},
          {"context", shape.context},
          {"rotary_size", shape.rotary_size},
          {"rotary_base", shape.rotary_base},
          {"norm_epsilon", shape.norm_epsilon}};
}

json tokenizer_document(const examined_model& model) {
  if (!model.words) {
    return {{"error", model.why_no_words}};
  }
  const vocabulary& words = model.words->words();
  auto id = [](std::optional<token_id> token) { return token ? json(*token) : json(nullptr); };
  auto [form, why_not] = chat_form(*model.words);
  json document{{"kind", model.words->kind()},
                {"splitter", model.words->splitter_name()},
                {"tokens", words.size()},
                {"bos", id(words.bos)},
                {"eos", id(words.eos)},
                {"adds_bos", words.add_bos},
                {"adds_eos", words.add_eos},
                {"ends_of_generation", words.ends_of_generation},
                {"chat", form.empty() ? json(nullptr) : json(form)}};
  if (!why_not.empty()) {
    document["chat_error"] = why_not;
  }
  return document;
}

json document_of(const examined_model& model) {
  const llama_weights& weights = model.weights;
  json document{{"name", weights.name},
                {"architecture", "llama"},
                {"parameters", parameters_of(weights)},
                {"tied_embeddings", is_tied(weights)},
                {"kv_bytes_per_token", kv_bytes_per_token(weights.shape)},
                {"fingerprint", fingerprint_text(weights)},
                {"shape", shape_document(weights.shape)}};
  for (const auto& [name, sum] : sums_of(weights)) {
    document["matrices"][name] = {
        {"count", sum.matrices}, {"weights", sum.weights}, {"bytes", sum.bytes}};
  }
  document["tokenizer"] = tokenizer_document(model);
  return document;
}

void line(std::string_view name, const std::string& text) {
  std::cout << fmt::format("{:<14} {}\n", name, text);
}

void print_tokenizer(const examined_model& model) {
  if (!model.words) {
    line("tokenizer", "none that can be used: " + model.why_no_words);
    return;
  }
  const tokenizer& words = *model.words;
  std::string kind = words.kind() == "gpt2"
                         ? fmt::format("byte-level BPE, splitter {}", words.splitter_name())
                         : std::string{"SentencePiece BPE"};
  const vocabulary& all = words.words();
  std::string ends = all.add_bos ? (all.add_eos ? "BOS and EOS" : "BOS") : all.add_eos ? "EOS" : "";
  line("tokenizer",
       fmt::format("{}, {} tokens, {}", kind, print_count(static_cast<std::int64_t>(all.size())),
                   ends.empty() ? "adds nothing" : "adds " + ends));
  auto [form, why_not] = chat_form(words);
  line("conversations", form.empty() ? why_not : form);
}

void print(const examined_model& model) {
  const llama_weights& weights = model.weights;
  const llama_shape& shape = weights.shape;
  line("name", quoted_name(weights.name));
  line("parameters", fmt::format("{}{}", print_count(parameters_of(weights)),
                                 is_tied(weights) ? ", embedding and output tied" : ""));
  line("layers",
       fmt::format("{} of {}, feed-forward {}", shape.layers, shape.hidden, shape.feed_forward));
  line("heads", fmt::format("{} of {}, {} for keys and values", shape.heads, shape.head_size,
                            shape.kv_heads));
  line("positions", fmt::format("{}, rotary base {} over {} of {}", print_count(shape.context),
                                shape.rotary_base, shape.rotary_size, shape.head_size));
  line("KV per token",
       fmt::format("{} bytes at 2 bytes an element", print_count(kv_bytes_per_token(shape))));
  for (const auto& [name, sum] : sums_of(weights)) {
    line(name, fmt::format("{} matrices, {} weights, {} bytes", print_count(sum.matrices),
                           print_count(sum.weights), print_count(sum.bytes)));
  }
  print_tokenizer(model);
  line("fingerprint", fingerprint_text(weights));
}

/// Bytes of a token in quotes; control characters, quotes and bytes that are no character are
/// escaped.
std::string shown(std::string_view bytes) {
  std::vector<character> characters = characters_of(bytes);
  std::string out;
  for (std::size_t i = 0; i + 1 < characters.size(); ++i) {
    std::string_view each =
        bytes.substr(characters[i].begin, characters[i + 1].begin - characters[i].begin);
    bool broken = characters[i].code == 0xfffd && each.size() == 1;
    bool plain = !broken && each.front() != '\x7f' && each.front() != '"' && each.front() != '\\' &&
                 characters[i].code >= ' ';
    out += plain ? std::string{each}
                 : fmt::format("\\x{:02x}", static_cast<unsigned char>(each.front()));
  }
  return "\"" + out + "\"";
}

void print_tokens(const tokenizer& words, const std::string& text, bool as_json) {
  std::vector<token_id> ids = words.encode(text);
  if (as_json) {
    print_json({{"text", text}, {"ids", ids}});
    return;
  }
  for (token_id id : ids) {
    std::cout << fmt::format("{:>8}  {}\n", id, shown(words.bytes_of(id)));
  }
  std::cout << fmt::format("{} tokens of {} bytes\n", ids.size(), text.size());
}

}  // namespace

void model_command(const std::vector<std::string>& words) {
  arguments given{
      "model", "model FILE [--tokens TEXT] [--json]",
      "Describes a model with weights: a GGUF file of the Llama family, or builtin:tiny."};
  given.word("FILE", "a path that ends in .gguf, or builtin:tiny");
  given.option("tokens", "TEXT", "print the tokens of a text instead");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  std::string name = given.required("FILE");
  if (given.has("tokens")) {
    print_tokens(load_tokenizer(name), given.one("tokens"), given.has("json"));
    return;
  }
  examined_model model = examine(name);
  if (given.has("json")) {
    print_json(document_of(model));
  } else {
    print(model);
  }
}

}  // namespace refrain
