// Writes the results of one run. FILE.h5 appears only at the end, whole; until then the folder
// FILE.h5.parts holds closed part files, each written under a temporary name and renamed into
// place, so that a run killed at any moment loses at most the last 1,023 rows of each stream. At
// the end the parts are merged, in scenario order and in memory that does not grow with the rows.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/run_description.hpp"
#include "analysis/table.hpp"

namespace refrain {

class results_reader;
struct stream_state;
struct writer_state;

/// Rows of one table of one contender, on their way to disk. Belongs to its writer; used by one
/// thread at a time. Failures to write throw run_error naming the file.
class part_stream {
 public:
  explicit part_stream(stream_state& state) : state_{&state} {}

  /// Adds rows; every 1,024 of them become a part file.
  void append(const table& rows);
  /// The rows not yet on disk, to be added to in place: push one value on every column, then call
  /// `commit`.
  table& rows();
  /// Ends a row pushed through `rows`.
  void commit();
  /// Puts all rows on disk, whatever their number.
  void flush();

 private:
  stream_state* state_;
};

/// The tables of one contender; contenders may write from different threads.
class contender_writer {
 public:
  contender_writer(writer_state& state, std::size_t index) : state_{&state}, index_{index} {}

  /// Has a table's rows shown to `take` as they are written, in order, but for those that are left
  /// when the results_writer goes without `finish`; told before it is opened.
  void watch(const std::string& name, std::function<void(const table& rows)> take);
  /// Starts a table with the columns of `columns`, which has no rows; its name is snake_case.
  part_stream open(const std::string& name, const table& columns);
  /// Writes a whole table.
  void write(const std::string& name, const table& rows);
  /// Puts all rows of all tables on disk: the end of a contender.
  void close();

 private:
  writer_state* state_;
  std::size_t index_;
};

/// What is known only when all contenders are done; tables without columns are left out.
struct final_tables {
  table comparison;
  table bounds;
  std::vector<std::string> warnings;
  /// More tables per contender, in scenario order; may be empty.
  std::vector<std::vector<named_table>> contenders;
};

/// The result file of one run. Contender names are unique, not empty and without "/".
class results_writer {
 public:
  /// Makes the parts folder, replacing what an earlier crashed run of this name left there. Throws
  /// run_error where the folder cannot be written, input_error for contender names no file can
  /// hold. A finished FILE.h5 stays as it is until `finish`.
  results_writer(std::filesystem::path path, run_description run);
  /// Without `finish`, puts the remaining rows on disk as far as it can and leaves the parts.
  ~results_writer();
  results_writer(const results_writer&) = delete;
  results_writer& operator=(const results_writer&) = delete;

  /// The writer of one contender, by its place in the scenario.
  contender_writer contender(std::size_t index);

  /// Puts everything into FILE.h5 and removes the parts. No other thread may still write. `look`
  /// reads what the contenders wrote, whole but not yet under its name, and says what is known only
  /// now. On failure FILE.h5 is as it was, the parts stay, and run_error names the file. When the
  /// new file is whole and about to take its name, `when_whole` is told.
  void conclude(const std::function<final_tables(const results_reader&)>& look,
                const std::function<void()>& when_whole = {});
  /// The same where what is known only at the end is known.
  void finish(const final_tables& last);

 private:
  std::unique_ptr<writer_state> state_;
};

}  // namespace refrain
