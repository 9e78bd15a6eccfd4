// Parameters of a policy: declared in the policy's file with name, default, range and unit, and
// given by a scenario or a command line as text. Resolving them is the one place where names and
// ranges are checked, so a policy reads plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// How a parameter's text is read.
enum class parameter_type : std::uint8_t { integer, real, duration, choice, boolean };

/// One declared parameter.
struct parameter {
  std::string_view name;
  parameter_type type;
  std::string_view standard;     ///< the default, as a person would write it
  std::string_view description;  ///< one line, with the unit
  double low = 0;                ///< least value (integer, real; durations in seconds)
  double high = 9e15;            ///< greatest value, likewise
  std::vector<std::string_view> choices{};
};

/// The name of a type, for people.
std::string_view type_name(parameter_type type);

/// Names and texts as a scenario or a command line gives them.
using given_parameters = std::vector<std::pair<std::string, std::string>>;

/// Every declared parameter with its value.
class parameters {
 public:
  parameters() = default;
  /// Checks `given` against `declared`. Throws input_error{where, ...} for an unknown name, a wrong
  /// type or a value out of range.
  parameters(const std::vector<parameter>& declared, const given_parameters& given,
             const std::string& where);

  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  sim_time duration(std::string_view name) const;
  bool boolean(std::string_view name) const;
  /// The chosen word.
  std::string_view choice(std::string_view name) const;

  /// Every parameter as text, in order of name.
  std::vector<std::pair<std::string, std::string>> texts() const;

 private:
  struct value {
    parameter_type type;
    std::string text;
    double number;
  };
  const value& at(std::string_view name, parameter_type type) const;

  std::map<std::string, value, std::less<>> values_;
};

}  // namespace refrain
