#include "policies/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>

#include "traces/error.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

double parse_number(const std::string& text, bool whole) {
  double value = 0;
  const char* last = text.data() + text.size();
  auto [end, failure] = std::from_chars(text.data(), last, value);
  if (failure != std::errc{} || end != last || !std::isfinite(value)) {
    throw std::invalid_argument{"\"" + text + "\" is not a number"};
  }
  if (whole && value != std::floor(value)) {
    throw std::invalid_argument{"\"" + text + "\" is not a whole number"};
  }
  return value;
}

double parse_choice(const parameter& declared, const std::string& text) {
  auto found = std::find(declared.choices.begin(), declared.choices.end(), text);
  if (found == declared.choices.end()) {
    throw std::invalid_argument{unknown_name("value", text, declared.choices)};
  }
  return static_cast<double>(found - declared.choices.begin());
}

double parse(const parameter& declared, const std::string& text) {
  switch (declared.type) {
    case parameter_type::integer:
      return parse_number(text, true);
    case parameter_type::real:
      return parse_number(text, false);
    case parameter_type::duration:
      return to_seconds(parse_duration(text));
    case parameter_type::choice:
      return parse_choice(declared, text);
    case parameter_type::boolean:
      if (text != "true" && text != "false") {
        throw std::invalid_argument{"\"" + text + "\" is neither true nor false"};
      }
      return text == "true" ? 1 : 0;
  }
  return 0;
}

std::string number_text(double number) {
  char text[32];
  auto [end, _] = std::to_chars(text, text + sizeof text, number);
  return std::string{text, end};
}

double parse_in_range(const parameter& declared, const std::string& text) {
  double number = parse(declared, text);
  bool ranged = declared.type == parameter_type::integer || declared.type == parameter_type::real ||
                declared.type == parameter_type::duration;
  if (ranged && (number < declared.low || number > declared.high)) {
    throw std::invalid_argument{text + " is outside " + number_text(declared.low) + " to " +
                                number_text(declared.high)};
  }
  return number;
}

}  // namespace

std::string_view type_name(parameter_type type) {
  constexpr std::string_view names[] = {"integer", "real", "duration", "choice", "boolean"};
  return names[static_cast<std::size_t>(type)];
}

parameters::parameters(const std::vector<parameter>& declared, const given_parameters& given,
                       const std::string& where) {
  std::vector<std::string_view> names;
  for (const parameter& p : declared) {
    names.push_back(p.name);
    values_.emplace(std::string{p.name},
                    value{p.type, std::string{p.standard}, parse(p, std::string{p.standard})});
  }
  std::set<std::string_view> seen;
  for (const auto& [name, text] : given) {
    auto found = std::find_if(declared.begin(), declared.end(),
                              [&wanted = name](const parameter& p) { return p.name == wanted; });
    if (found == declared.end()) {
      throw input_error{where, names.empty() ? "takes no parameters, \"" + name + "\" is unknown"
                                             : unknown_name("parameter", name, names)};
    }
    if (!seen.insert(name).second) {
      throw input_error{where, "gives \"" + name + "\" twice"};
    }
    try {
      values_.at(name) = value{found->type, text, parse_in_range(*found, text)};
    } catch (const std::invalid_argument& wrong) {
      throw input_error{where + "." + name, wrong.what()};
    }
  }
}

const parameters::value& parameters::at(std::string_view name, parameter_type type) const {
  auto found = values_.find(name);
  REFRAIN_ASSERT(found != values_.end() && found->second.type == type);
  return found->second;
}

std::int64_t parameters::integer(std::string_view name) const {
  return static_cast<std::int64_t>(at(name, parameter_type::integer).number);
}

double parameters::real(std::string_view name) const {
  return at(name, parameter_type::real).number;
}

sim_time parameters::duration(std::string_view name) const {
  return from_seconds(at(name, parameter_type::duration).number);
}

bool parameters::boolean(std::string_view name) const {
  return at(name, parameter_type::boolean).number != 0;
}

std::string_view parameters::choice(std::string_view name) const {
  return at(name, parameter_type::choice).text;
}

std::vector<std::pair<std::string, std::string>> parameters::texts() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, v] : values_) {
    all.emplace_back(name, v.text);
  }
  return all;
}

}  // namespace refrain
