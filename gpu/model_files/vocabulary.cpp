#include "gpu/model_files/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace refrain {
namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view kinds_key = "tokenizer.ggml.token_type";
constexpr std::string_view scores_key = "tokenizer.ggml.scores";

void check_count(const gguf_file& file, std::string_view key, std::size_t count,
                 std::size_t tokens) {
  if (count != tokens) {
    file.fail_at_key(key, fmt::format("has {} elements for {} tokens", count, tokens));
  }
}

void read_texts(const gguf_file& file, vocabulary& out) {
  std::optional<std::vector<std::string_view>> texts = file.texts(tokens_key);
  if (!texts || texts->empty()) {
    file.fail_at_key(tokens_key, "is missing or empty");
  }
  const gguf_tensor* embedding = file.find_tensor("token_embd.weight");
  if (texts->size() > static_cast<std::size_t>(std::numeric_limits<token_id>::max()) ||
      (embedding != nullptr && static_cast<std::int64_t>(texts->size()) > embedding->rows())) {
    file.fail_at_key(tokens_key,
                     fmt::format("has {} tokens, more than the embedding has rows", texts->size()));
  }
  out.texts.assign(texts->begin(), texts->end());
}

void read_kinds(const gguf_file& file, vocabulary& out) {
  std::optional<std::vector<std::int64_t>> kinds = file.integers(kinds_key);
  if (!kinds) {
    out.kinds.assign(out.size(), token_kind::normal);
    return;
  }
  check_count(file, kinds_key, kinds->size(), out.size());
  for (std::int64_t kind : *kinds) {
    if (kind < 1 || kind > 6) {
      file.fail_at_key(kinds_key, fmt::format("token {} is of unknown type {}; expected 1 to 6",
                                              out.kinds.size(), kind));
    }
    out.kinds.push_back(static_cast<token_kind>(kind));
  }
}

void read_scores(const gguf_file& file, vocabulary& out) {
  if (std::optional<std::vector<double>> scores = file.numbers(scores_key)) {
    check_count(file, scores_key, scores->size(), out.size());
    for (double score : *scores) {
      out.scores.push_back(static_cast<float>(score));
    }
  }
}

std::optional<token_id> read_id(const gguf_file& file, const std::string& name,
                                const vocabulary& words) {
  std::string key = "tokenizer.ggml." + name;
  std::optional<std::int64_t> id = file.integer(key);
  if (!id) {
    return std::nullopt;
  }
  // Files say "none" by the largest 32-bit number.
  if (*id == -1 || *id == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  if (*id < 0 || *id >= static_cast<std::int64_t>(words.size())) {
    file.fail_at_key(key, fmt::format("is {}; tokens are 0 to {}", *id, words.size() - 1));
  }
  return static_cast<token_id>(*id);
}

}  // namespace

std::optional<token_id> vocabulary::find(std::string_view text) const {
  auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional{found->second};
}

void vocabulary::index() {
  ids.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    ids.emplace(texts[i], static_cast<token_id>(i));
  }
  if (eos) {
    ends_of_generation.push_back(*eos);
  }
  // Chat models end a turn with one of these, whatever their file calls EOS.
  for (std::string_view text :
       {"<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>"}) {
    std::optional<token_id> id = find(text);
    if (id && kinds[static_cast<std::size_t>(*id)] == token_kind::control) {
      ends_of_generation.push_back(*id);
    }
  }
  std::sort(ends_of_generation.begin(), ends_of_generation.end());
  auto end = std::unique(ends_of_generation.begin(), ends_of_generation.end());
  ends_of_generation.erase(end, ends_of_generation.end());
}

vocabulary read_vocabulary(const gguf_file& file) {
  vocabulary out;
  read_texts(file, out);
  read_kinds(file, out);
  read_scores(file, out);
  out.bos = read_id(file, "bos_token_id", out);
  out.eos = read_id(file, "eos_token_id", out);
  out.unknown = read_id(file, "unknown_token_id", out);
  if (std::optional<token_id> turn_end = read_id(file, "eot_token_id", out)) {
    out.ends_of_generation.push_back(*turn_end);
  }
  out.index();
  return out;
}

}  // namespace refrain
