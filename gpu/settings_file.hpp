// A strict reader for the flat TOML files of this folder (model shapes, hardware profiles): every
// key is named by its dotted path and read by its type, and whatever is missing, unknown or of the
// wrong kind is an input_error that names the file, the line and the key. Arrays hold strings only;
// dates and nested arrays are not read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "traces/embedded.hpp"

namespace refrain {

/// The least value a number may have.
enum class least { positive, zero, one };

/// One parsed file, as a list of dotted keys with their values.
class settings_file {
 public:
  /// Parses `text`; `file` names it in errors. Throws input_error on a syntax error.
  settings_file(std::string file, std::string_view text);

  /// Throws input_error at the first key that is neither in `known` nor below one of `open` tables.
  void allow_only(std::span<const std::string_view> known,
                  std::span<const std::string_view> open = {}) const;

  /// Whether the key, or any key below it, is given.
  bool has(std::string_view key) const;
  /// The names right below a table, in file order: "2", "4" for [table.2], [table.4].
  std::vector<std::string> names_below(std::string_view table) const;

  /// An integer of at least 1. Throws input_error when missing, of another type or out of range.
  std::int64_t count(std::string_view key) const;
  /// A finite number (an integer will do) of at least `bound`. Throws input_error likewise.
  double number(std::string_view key, least bound = least::positive) const;
  /// A string that is not empty. Throws input_error likewise.
  std::string text(std::string_view key) const;
  /// True or false. Throws input_error likewise.
  bool flag(std::string_view key) const;
  /// An array of strings. Throws input_error likewise.
  std::vector<std::string> texts(std::string_view key) const;

  /// Throws input_error naming the file, the key's line where it is given, and the key.
  [[noreturn]] void fail(std::string_view key, const std::string& what_is_wrong) const;

 private:
  // Monostate: an empty table, or a value of a kind that no key takes.
  using value = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                             std::vector<std::string>>;
  struct entry {
    std::string key;
    value content;
    std::uint32_t line;
  };
  struct parser;

  const entry* find(std::string_view key) const;
  const entry& require(std::string_view key) const;

  std::string file_;
  std::vector<entry> entries_;
};

/// The file that `name` stands for: a path when it ends in ".toml", else one of the embedded
/// `files` of `folder`. Throws input_error: at `key` when the name is unknown (naming the nearest
/// one of this `kind`), at the path when it cannot be read.
settings_file find_settings(std::string_view kind, std::string_view key, std::string_view folder,
                            const std::string& name, std::span<const embedded_file> files);

/// The name that a file goes by: `name` itself, or a path's file name without ".toml".
std::string settings_name(const std::string& name);

/// The names of embedded files, sorted.
std::vector<std::string> sorted_names(std::span<const embedded_file> files);

}  // namespace refrain
