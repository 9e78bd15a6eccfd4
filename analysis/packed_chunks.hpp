// A table on its way into the result file, in the form that it will have there: whole chunks of
// columns, shuffled and deflated by the thread that made the rows, one file a chunk beside the
// parts. The merge only moves their bytes, so contenders that run beside each other do not wait for
// each other's compression at the end. Nobody else reads these files; the parts are what survives
// an unfinished run. Left out: columns of strings, whose width is known at the end only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/hdf5.hpp"
#include "analysis/table.hpp"

namespace refrain {

/// The chunks of one table. Failures to write throw run_error naming the file.
class packed_chunks {
 public:
  /// Whether tables with these columns can be packed: none holds strings.
  static bool can_pack(const table& columns);
  /// Whether a file of this name is a chunk.
  static bool is_chunk(const std::string& name);

  /// Chunks will be `stem`.000000.chunk and so on; nothing is written yet.
  packed_chunks(std::filesystem::path stem, const table& columns);

  /// Adds rows.
  void append(const table& rows);
  /// Puts what fills no chunk on disk too: the end of the table.
  void close();
  /// Hands all rows to `target`, in order; the table must be closed.
  void copy_to(hdf5::table_appender& target) const;

 private:
  std::filesystem::path file(std::size_t number) const;
  void write_chunk();
  void copy_rest_to(hdf5::table_appender& target) const;

  std::filesystem::path stem_;
  table rows_;  // of the chunk that is not full
  std::size_t whole_ = 0;
  std::size_t rest_ = 0;  // rows of the last file, if it is no whole chunk
  bool closed_ = false;
};

}  // namespace refrain
