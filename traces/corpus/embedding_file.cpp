#include "traces/corpus/embedding_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "traces/corpus/text.hpp"
#include "traces/input_file.hpp"
#include "traces/json_lines.hpp"

namespace refrain {

namespace {

constexpr std::size_t width_max = 65'536;

std::string cut_for_message(std::string_view text) {
  constexpr std::size_t shown = 60;
  return std::string{text.substr(0, character_start(text, shown))} +
         (text.size() > shown ? "..." : "");
}

struct embedding_row {
  std::optional<exact_fingerprint> text;
  std::vector<double> numbers;
};

void read_numbers(json_value& value, std::vector<double>& numbers) {
  simdjson::ondemand::array given;
  if (value.get_array().get(given) != simdjson::SUCCESS) {
    throw bad_row{"\"embedding\" is not an array of numbers"};
  }
  for (auto element : given) {
    double number = 0;
    if (element.get_double().get(number) != simdjson::SUCCESS || !std::isfinite(number)) {
      throw bad_row{"an embedding holds what is no finite number",
                    "at place " + std::to_string(numbers.size())};
    }
    numbers.push_back(number);
    if (numbers.size() > width_max) {
      throw bad_row{"an embedding has more than 65,536 numbers"};
    }
  }
}

embedding_row read_row(json_walker& walker, std::string_view line) {
  embedding_row row;
  std::optional<exact_fingerprint> text;
  bool has_numbers = false;
  walker.for_each_field(line, [&](std::string_view name, json_value& value) {
    std::string_view string;
    if (name == "text" || name == "fingerprint") {
      if (value.get_string().get(string) != simdjson::SUCCESS) {
        throw bad_row{"\"" + std::string{name} + "\" is not a string"};
      }
      std::optional<exact_fingerprint> found =
          name == "text" ? fingerprint_of(string) : parse_fingerprint(string);
      if (!found) {
        throw bad_row{"\"fingerprint\" is not 32 hexadecimal digits"};
      }
      set_once(text, *found, name);
    } else if (name == "embedding") {
      if (has_numbers) {
        throw bad_row{"a field is given twice", "embedding"};
      }
      has_numbers = true;
      read_numbers(value, row.numbers);
    }
  });
  if (!text) {
    throw bad_row{"missing field \"text\" or \"fingerprint\""};
  }
  if (!has_numbers) {
    throw bad_row{"missing field \"embedding\""};
  }
  row.text = text;
  return row;
}

}  // namespace

embedding_file::embedding_file(const std::string& path) : path_{path} {
  input_file file{path};
  json_walker walker;
  std::string_view line;
  while (file.next_line(line)) {
    try {
      embedding_row row = read_row(walker, line);
      add(*row.text, row.numbers);
    } catch (const bad_row& row) {
      throw input_error{file.where(), row.what()};
    }
  }
  if (places_.empty()) {
    throw input_error{path, "holds no embeddings"};
  }
}

void embedding_file::add(const exact_fingerprint& text, const std::vector<double>& numbers) {
  if (numbers.empty()) {
    throw bad_row{"an embedding has no numbers"};
  }
  if (width_ == 0) {
    width_ = numbers.size();
  }
  if (numbers.size() != width_) {
    throw bad_row{"an embedding of the wrong width", "expected " + std::to_string(width_) +
                                                         " numbers as in the first row, found " +
                                                         std::to_string(numbers.size())};
  }
  if (!places_.emplace(text, places_.size()).second) {
    throw bad_row{"an embedding of a text that has one already", text.hex()};
  }
  double largest = 0;
  for (double number : numbers) {
    largest = std::max(largest, std::abs(number));
  }
  std::size_t begin = numbers_.size();
  for (double number : numbers) {
    numbers_.push_back(static_cast<float>(largest > 0 ? number / largest : 0));
  }
  if (!normalise({numbers_.data() + begin, width_})) {
    throw bad_row{"an embedding of zeros, which has no direction"};
  }
}

void embedding_file::embed(std::string_view text, std::span<float> out) const {
  auto found = places_.find(fingerprint_of(text));
  if (found == places_.end()) {
    throw input_error{path_, "has no embedding of \"" + cut_for_message(text) + "\" (fingerprint " +
                                 fingerprint_of(text).hex() + ")"};
  }
  REFRAIN_ASSERT(out.size() == width_);
  std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(found->second * width_), width_,
              out.begin());
}

}  // namespace refrain
