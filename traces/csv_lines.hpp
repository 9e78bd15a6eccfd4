// What the readers of comma-separated files share: a header that names the columns, in any order
// and with others beside those asked for, and rows of as many plain fields. Nothing is unquoted: a
// quote is refused, since none of the formats read here has any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/input_file.hpp"
#include "traces/rows.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A count of tokens: a whole number from `least` to 1e9. Throws bad_row naming the column.
token_count csv_tokens(std::string_view field, std::string_view name, std::int64_t least);
/// Seconds, whole or not, from 0 to 100 years. Throws bad_row naming the column.
sim_time csv_seconds(std::string_view field, std::string_view name);

/// A source that reads one row a line after a header; a format says what a row means.
class csv_lines_source : public source {
 public:
  /// Reads the header. Throws input_error where there is none.
  csv_lines_source(const source_options& options, trace_info info);

  const trace_info& info() const final { return info_; }
  const row_counts& counts() const final { return ledger_.counts(); }
  bool next(request& out) final;

 protected:
  using fields = std::vector<std::string_view>;

  /// Fills the empty request `out` from a row with as many fields as the header. Throws bad_row,
  /// and then leaves the reader as it was before the row.
  virtual void read_row(const fields& row, request& out) = 0;

  /// Position of a column, if the header has it.
  std::optional<std::size_t> column(std::string_view name) const;
  /// Position of a column that must be there. Throws input_error.
  std::size_t required_column(std::string_view name) const;

  trace_info info_;

 private:
  void split(std::string_view line);

  input_file file_;
  row_ledger ledger_;
  std::vector<std::string> header_;
  std::string header_at_;
  fields row_;
};

}  // namespace refrain
