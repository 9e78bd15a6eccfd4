// Reads the results of one run, finished or not: FILE.h5, or, where that does not exist, the part
// files that a running or killed run has left so far. Both look the same to the caller but for
// `complete`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_description.hpp"
#include "analysis/table.hpp"

namespace refrain {

struct reader_state;

/// The results of one run. Failures while reading throw run_error with the file's name.
class results_reader {
 public:
  /// Opens FILE.h5, or where there is none its parts; given FILE.h5.parts, these in any case.
  /// Throws input_error when there is neither, when the file is not one of Refrain's or when its
  /// schema is newer than this program.
  explicit results_reader(const std::filesystem::path& path);
  ~results_reader();
  results_reader(results_reader&&) noexcept;

  /// Whether the run came to its end: FILE.h5 exists.
  bool complete() const;
  /// Where they stand: FILE.h5, or FILE.h5.parts while that is all there is.
  std::filesystem::path path() const;
  /// What was run; contenders in scenario order.
  const run_description& run() const;

  /// Names of a contender's tables, sorted.
  std::vector<std::string> tables(std::size_t contender) const;
  bool has(std::size_t contender, std::string_view name) const;
  /// A contender's table with the columns named, in that order and without those it lacks; with
  /// none named, all of them. Without such a table, run_error.
  table read(std::size_t contender, const std::string& name,
             std::span<const std::string_view> columns = {}) const;
  /// Hands the table over piece by piece, in order, with columns as in `read`; once at least, also
  /// where there are no rows. Memory does not grow with the rows.
  void visit(std::size_t contender, const std::string& name,
             std::span<const std::string_view> columns,
             const std::function<void(const table& rows)>& take) const;
  /// One column; run_error when there is no such table or column.
  column read_column(std::size_t contender, const std::string& name, std::string_view column) const;

  /// The comparison of the contenders with the first; no columns when the file has none.
  table comparison() const;
  /// Bounds on what any policy could do; no columns when the file has none.
  table bounds() const;
  /// The run's warnings, one line each; of an unfinished run, which of its parts are gone.
  std::vector<std::string> warnings() const;

 private:
  std::unique_ptr<reader_state> state_;
};

}  // namespace refrain
