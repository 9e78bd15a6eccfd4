// A table in memory: named columns of equal length, the form in which everything leaves a run and
// comes back from a result file. Columns, not rows, because that is how the file keeps them and how
// statistics read them. Strings are for small tables (comparison, run settings).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace refrain {

/// The values of one column: counts exact, measures as doubles, names as UTF-8.
using column_values =
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// One column; `unit` is empty for names and plain numbers ("1"), else "s", "tokens", "bytes", ...
struct column {
  std::string name;
  std::string unit;
  std::string description;
  column_values values;

  /// Number of rows.
  std::size_t size() const;
  /// The values as whole numbers; a programmer error for any other type.
  const std::vector<std::int64_t>& integers() const;
  std::vector<std::int64_t>& integers();
  /// The values as doubles; a programmer error for any other type.
  const std::vector<double>& reals() const;
  std::vector<double>& reals();
  /// The values as strings; a programmer error for any other type.
  const std::vector<std::string>& texts() const;
  std::vector<std::string>& texts();
};

/// An empty column of whole numbers.
column integer_column(std::string name, std::string unit, std::string description);
/// An empty column of doubles.
column real_column(std::string name, std::string unit, std::string description);
/// An empty column of strings, without unit.
column text_column(std::string name, std::string description);

/// Columns of equal length, in the order in which they are shown.
struct table {
  std::vector<column> columns;

  /// Number of rows; 0 without columns.
  std::size_t rows() const;
  /// The column of this name, or nullptr.
  const column* find(std::string_view name) const;
  /// The column of this name; a programmer error when there is none.
  const column& at(std::string_view name) const;
  column& at(std::string_view name);

  /// The same columns without rows.
  table like() const;
  /// Whether both have the same column names and types, in the same order.
  bool same_columns(const table& other) const;
  /// Adds rows first .. first + count - 1 of `other`, which has the same columns.
  void append(const table& other, std::size_t first, std::size_t count);
  /// Adds all rows of `other`, which has the same columns.
  void append(const table& other) { append(other, 0, other.rows()); }
  /// Removes all rows and keeps the memory.
  void clear();
};

/// A table with the name under which it is stored.
using named_table = std::pair<std::string, table>;

}  // namespace refrain
