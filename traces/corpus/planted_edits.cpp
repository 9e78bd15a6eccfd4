#include "traces/corpus/planted_edits.hpp"

#include <algorithm>
#include <vector>

namespace refrain {

namespace {

constexpr std::string_view auxiliaries[] = {"is",   "are", "was",   "were",   "do",  "does",
                                            "did",  "can", "could", "will",   "may", "would",
                                            "have", "has", "had",   "should", "must"};
constexpr std::string_view articles[] = {"the", "a", "an"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_mark(char c) {
  return c == '.' || c == '?' || c == '!';
}

/// A piece of a text by the places of its bytes.
struct piece {
  std::size_t begin;
  std::size_t end;
};

std::vector<piece> numbers_of(std::string_view text) {
  std::vector<piece> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) {
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() &&
           (is_digit(text[end]) || ((text[end] == '.' || text[end] == ',') &&
                                    end + 1 < text.size() && is_digit(text[end + 1])))) {
      ++end;
    }
    found.push_back({i, end});
    i = end;
  }
  return found;
}

/// Words between spaces that are one of the list; the next word after each begins behind a space.
template <class Words>
std::vector<piece> words_among(std::string_view text, const Words& words) {
  std::vector<piece> found;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    if (std::ranges::find(words, text.substr(begin, end - begin)) != std::end(words)) {
      found.push_back({begin, end});
    }
    begin = end + 1;
  }
  return found;
}

bool has_not_behind(std::string_view text, const piece& word) {
  constexpr std::string_view negation = " not";
  std::size_t end = word.end + negation.size();
  return text.substr(word.end).starts_with(negation) && (end == text.size() || text[end] == ' ');
}

std::string without(std::string_view text, std::size_t begin, std::size_t end) {
  return std::string{text.substr(0, begin)}.append(text.substr(end));
}

std::string lower(std::string_view text) {
  std::string changed{text};
  for (char& c : changed) {
    c = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return changed;
}

}  // namespace

std::optional<std::string> with_other_number(std::string_view text, random_stream& choice) {
  std::vector<piece> numbers = numbers_of(text);
  if (numbers.empty()) {
    return std::nullopt;
  }
  piece number = numbers[choice.below(numbers.size())];
  std::vector<std::size_t> digits;
  for (std::size_t i = number.begin; i < number.end; ++i) {
    if (is_digit(text[i])) {
      digits.push_back(i);
    }
  }
  std::size_t at = digits[choice.below(digits.size())];
  bool leads = at == number.begin && digits.size() > 1;
  std::string others = leads ? "123456789" : "0123456789";
  std::erase(others, text[at]);
  std::string changed{text};
  changed[at] = others[choice.below(others.size())];
  return changed;
}

std::optional<std::string> negated(std::string_view text, random_stream& choice) {
  std::vector<piece> words = words_among(text, auxiliaries);
  std::erase_if(words, [&](const piece& word) { return has_not_behind(text, word); });
  if (words.empty()) {
    return std::nullopt;
  }
  return std::string{text}.insert(words[choice.below(words.size())].end, " not");
}

std::optional<std::string> edited_harmlessly(std::string_view text, random_stream& choice) {
  if (text.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> edits;
  if (std::ranges::any_of(text, is_upper)) {
    edits.push_back(lower(text));
  }
  bool ends_in_mark = is_mark(text.back()) && text.size() > 1;
  edits.push_back(ends_in_mark ? std::string{text.substr(0, text.size() - 1)}
                               : std::string{text} + ".");
  std::vector<std::size_t> spaces;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') {
      spaces.push_back(i);
    }
  }
  if (!spaces.empty()) {
    edits.push_back(std::string{text}.insert(spaces[choice.below(spaces.size())], " "));
  }
  std::vector<piece> words = words_among(text, articles);
  std::erase_if(words, [&](const piece& word) { return word.end == text.size(); });
  if (!words.empty()) {
    piece word = words[choice.below(words.size())];
    edits.push_back(without(text, word.begin, word.end + 1));
  }
  return edits[choice.below(edits.size())];
}

}  // namespace refrain
