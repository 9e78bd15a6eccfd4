#include "gpu/model_files/splitters.hpp"

#include <algorithm>
#include <array>

namespace refrain {
namespace {

using text_view = std::span<const character>;

bool is(const character& c, character_class kind) {
  return c.kind == kind;
}
bool is_line_end(const character& c) {
  return c.code == '\r' || c.code == '\n';
}

/// The end of the run of `kind` that begins at `at`.
std::size_t run_end(text_view text, std::size_t at, std::size_t end, character_class kind) {
  while (at < end && is(text[at], kind)) {
    ++at;
  }
  return at;
}

/// Letters after an apostrophe at `at` that make a contraction: 's 't 'm 'd 're 've 'll; 0 if none.
std::size_t contraction(text_view text, std::size_t at, std::size_t end, bool any_case) {
  auto letter = [&](std::size_t i) -> char32_t {
    if (i >= end) {
      return 0;
    }
    char32_t code = text[i].code;
    if (any_case && code == 0x17f) {  // the long s folds to s
      return 's';
    }
    return any_case && code >= 'A' && code <= 'Z' ? code + 32 : code;
  };
  if (text[at].code != '\'') {
    return 0;
  }
  char32_t first = letter(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return 1;
  }
  char32_t second = letter(at + 2);
  bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
             (first == 'l' && second == 'l');
  return two ? 2 : 0;
}

/// White space from `at`: all of it at the end of the text, else all but the last, which stays with
/// what follows unless it is the only one.
std::size_t space_end(text_view text, std::size_t at, std::size_t end) {
  std::size_t stop = run_end(text, at, end, character_class::space);
  return stop == end || stop - at == 1 ? stop : stop - 1;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t gpt2_piece_end(text_view text, std::size_t at, std::size_t end) {
  if (std::size_t letters = contraction(text, at, end, false)) {
    return at + 1 + letters;
  }
  std::size_t start = text[at].code == ' ' && at + 1 < end ? at + 1 : at;
  if (!is(text[start], character_class::space)) {
    return run_end(text, start, end, text[start].kind);
  }
  return space_end(text, at, end);
}

void split_gpt2_range(text_view text, std::size_t at, std::size_t end,
                      std::vector<std::size_t>& begins) {
  while (at < end) {
    begins.push_back(at);
    at = gpt2_piece_end(text, at, end);
  }
}

void split_gpt2(text_view text, std::vector<std::size_t>& begins) {
  split_gpt2_range(text, 0, text.size() - 1, begins);
}

// Every number character is a piece of its own, and what lies between is split as by GPT-2.
void split_smollm(text_view text, std::vector<std::size_t>& begins) {
  std::size_t end = text.size() - 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (is(text[i], character_class::number)) {
      split_gpt2_range(text, start, i, begins);
      begins.push_back(i);
      start = i + 1;
    }
  }
  split_gpt2_range(text, start, end, begins);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
std::size_t llama3_piece_end(text_view text, std::size_t at, std::size_t end,
                             std::size_t digits_max) {
  if (std::size_t letters = contraction(text, at, end, true)) {
    return at + 1 + letters;
  }
  bool leads = !is_line_end(text[at]) && !is(text[at], character_class::number) &&
               !is(text[at], character_class::letter);
  std::size_t start = leads ? at + 1 : at;
  if (start < end && is(text[start], character_class::letter)) {
    return run_end(text, start, end, character_class::letter);
  }
  if (is(text[at], character_class::number)) {
    return std::min(run_end(text, at, end, character_class::number), at + digits_max);
  }
  start = text[at].code == ' ' && at + 1 < end ? at + 1 : at;
  if (is(text[start], character_class::other)) {
    std::size_t stop = run_end(text, start, end, character_class::other);
    while (stop < end && is_line_end(text[stop])) {
      ++stop;
    }
    return stop;
  }
  std::size_t stop = run_end(text, at, end, character_class::space);
  for (std::size_t i = stop; i > at; --i) {
    if (is_line_end(text[i - 1])) {
      return i;
    }
  }
  return space_end(text, at, end);
}

template <std::size_t digits_max>
void split_llama3(text_view text, std::vector<std::size_t>& begins) {
  std::size_t end = text.size() - 1;
  std::size_t at = 0;
  while (at < end) {
    begins.push_back(at);
    at = llama3_piece_end(text, at, end, digits_max);
  }
}

}  // namespace

std::span<const splitter> splitters() {
  static const std::array all{
      splitter{"smollm", {"starcoder", "refact", "command-r"}, split_smollm, false, false},
      splitter{"gpt-2", {"phi-2"}, split_gpt2, false, false},
      splitter{"llama-bpe", {"llama3", "llama-v3"}, split_llama3<3>, true, true},
      splitter{"qwen2", {"deepseek-r1-qwen"}, split_llama3<1>, false, false},
  };
  return all;
}

const splitter* find_splitter(std::string_view name) {
  for (const splitter& each : splitters()) {
    if (each.name == name || std::find(each.other_names.begin(), each.other_names.end(), name) !=
                                 each.other_names.end()) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace refrain
