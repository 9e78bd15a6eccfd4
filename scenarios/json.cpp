#include "scenarios/json.hpp"

#include <charconv>
#include <cmath>
#include <iostream>

namespace refrain {

namespace {

template <class Number>
bool is_number(const std::string& text, Number& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

json json_number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json json_of_text(const std::string& text) {
  std::int64_t whole = 0;
  double real = 0;
  if (is_number(text, whole)) {
    return whole;
  }
  if (is_number(text, real) && std::isfinite(real)) {
    return real;
  }
  return text == "true" || text == "false" ? json(text == "true") : json(text);
}

void print_json(const json& document) {
  // Names of files may hold bytes that are no UTF-8.
  std::cout << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

}  // namespace refrain
