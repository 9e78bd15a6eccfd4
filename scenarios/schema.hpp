// Every key that a scenario may have, as one table: type, default, range, and whether a contender
// may set its own. What is not in this table is an error wherever it stands, so names of features
// that do not exist yet are refused and never ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// How a key's value is written and read.
enum class setting_type : std::uint8_t {
  text,
  path,      ///< relative to the scenario's folder, in --set to the working directory
  paths,     ///< a list of them, or one
  resource,  ///< a name, or a path that ends in ".toml" or ".gguf"
  integer,
  real,
  boolean,
  duration,        ///< "3s"
  bytes,           ///< "256GiB"
  bandwidth,       ///< "50GB/s"
  share,           ///< "90%" or 0.9
  choice,          ///< one of a few words
  quantiles,       ///< "p0:1,p50:20,p100:900" or [[0, 1], [50, 20], [100, 900]]
  time_quantiles,  ///< the same of times: "p0:1s,p50:20s,p100:1h"
  policy           ///< a name, or a table with a name and parameters
};

/// One key of a scenario.
struct setting_rule {
  std::string_view key;
  setting_type type;
  std::string_view standard;     ///< the default as a person would write it; empty where none
  std::string_view description;  ///< one line
  bool per_contender = false;    ///< a contender may set its own
  double low = 0;      ///< least value (integer, real; durations in seconds, sizes in bytes)
  double high = 9e15;  ///< greatest value, likewise
  std::vector<std::string_view> choices{};
};

/// What a value of this type is called in messages: "an integer".
std::string_view expected_of(setting_type type);

/// All keys, in the order in which they are shown.
std::span<const setting_rule> scenario_schema();

/// The rule of a key, or nullptr.
const setting_rule* find_rule(std::string_view key);

/// Whether some key starts with `table` and a dot.
bool is_table_of_schema(std::string_view table);

/// "unknown key "KEY"; did you mean ..." with the nearest key or table, else the keys beside it.
std::string unknown_key(std::string_view key);

}  // namespace refrain
