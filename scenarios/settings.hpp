// Values of a scenario's keys in layers: the schema's defaults, the file, --set, and on top of them
// each contender's own. A value is checked against its rule when it enters a layer, so whoever
// reads one gets what the schema promises.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policies/parameters.hpp"
#include "scenarios/schema.hpp"
#include "traces/error.hpp"

namespace refrain {

/// A policy as written: its name and its parameters as text.
struct written_policy {
  std::string name;
  given_parameters values;
};

/// A list of strings as written.
using written_list = std::vector<std::string>;

/// A value as written. Monostate: of a kind that no key takes.
using written_value = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                   written_policy, written_list>;

/// A checked value.
struct setting_value {
  std::string where;  ///< "FILE:LINE", "--set " or "--set contender.NAME."; empty for a default
  std::string text;   ///< as a person would write it; a policy's name
  double number = 0;  ///< integers, reals, booleans, shares; durations in seconds
  sim_time time{0};   ///< durations
  std::string path;   ///< paths and resources: resolved
  std::vector<std::string> paths;  ///< lists of paths: resolved
  given_parameters values;         ///< policies
};

/// Checks what was written for `rule`. `where` is as in setting_value; `folder` is what relative
/// paths are relative to. Throws input_error naming where and key.
setting_value check_setting(const setting_rule& rule, const written_value& written,
                            const std::string& where, const std::string& folder);

/// One layer, or several on top of each other.
class scenario_settings {
 public:
  /// The defaults of the schema.
  static const scenario_settings& defaults();

  /// Adds a value to this layer. Throws input_error where tiers.gpu.share and tiers.gpu.blocks
  /// meet.
  void add(std::string_view key, setting_value value);
  /// Puts a layer on top of this one; a share gives way to blocks above it and the other way round.
  void cover(const scenario_settings& above);

  bool has(std::string_view key) const { return values_.contains(key); }
  /// The value; a programmer error where there is none.
  const setting_value& at(std::string_view key) const;
  /// The value of a key without default. Throws input_error{file, ...} where it is missing.
  const setting_value& required(std::string_view key, const std::string& file) const;

  const std::string& text(std::string_view key) const { return at(key).text; }
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const { return at(key).number; }
  bool boolean(std::string_view key) const { return at(key).number != 0; }
  sim_time time(std::string_view key) const { return at(key).time; }

  /// "FILE:LINE: KEY" or "KEY": the start of a message about a key.
  std::string where(std::string_view key) const;
  /// The same error with the place of the key that it starts with, where it starts with one.
  input_error located(const input_error& error) const;

 private:
  std::map<std::string, setting_value, std::less<>> values_;
};

}  // namespace refrain
