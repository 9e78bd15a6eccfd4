// HDF5 behind small handles: files, groups, attributes and tables (one 1-D dataset a column). Uses
// the C API of 1.10. Same data gives the same bytes: object times are off everywhere and the format
// version is fixed. The library is not thread-safe as Debian builds it, so every call here takes
// one process-wide mutex. Left out: everything Refrain does not store (compound types, links,
// SWMR).
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/table.hpp"

namespace refrain::hdf5 {

/// The mutex that every call into the library holds; recursive, so that a caller can hold it over
/// several calls.
std::recursive_mutex& library_mutex();

/// Owns one identifier of the library and closes it.
class handle {
 public:
  using closer = herr_t (*)(hid_t);

  handle() = default;
  handle(hid_t id, closer how) : id_{id}, close_{how} {}
  handle(handle&& other) noexcept;
  handle& operator=(handle&& other) noexcept;
  ~handle() { static_cast<void>(close()); }

  hid_t get() const { return id_; }
  /// Closes now; negative on failure, as the library has it.
  herr_t close() noexcept;

 private:
  hid_t id_ = H5I_INVALID_HID;
  closer close_ = nullptr;
};

/// A group of a file; valid while its file is open. Failures throw run_error with the file's name.
class group {
 public:
  group(handle id, std::string file) : id_{std::move(id)}, file_{std::move(file)} {}

  hid_t id() const { return id_.get(); }
  const std::string& file() const { return file_; }

  /// Makes a group below this one; its members are listed in the order in which they were made.
  group create(const std::string& name);
  group open(const std::string& name) const;
  bool has(const std::string& name) const;
  /// Names below this group, in the order in which they were made.
  std::vector<std::string> names() const;

  void set_text(const std::string& attribute, std::string_view value);
  void set_integer(const std::string& attribute, std::int64_t value);
  void set_unsigned(const std::string& attribute, std::uint64_t value);
  bool has_attribute(const std::string& attribute) const;
  std::string text(const std::string& attribute) const;
  std::int64_t integer(const std::string& attribute) const;
  std::uint64_t unsigned_integer(const std::string& attribute) const;

  /// Stores one text of any length as a scalar dataset.
  void write_text(const std::string& name, std::string_view value);
  std::string read_text(const std::string& name) const;

 private:
  handle id_;
  std::string file_;
};

/// A file; groups made from it must be gone before `close`.
class file {
 public:
  /// A new file on disk; an existing one is replaced.
  static file create(const std::filesystem::path& path);
  /// A new file in memory, for `image`; `path` only appears in messages.
  static file create_in_memory(const std::filesystem::path& path);
  /// An existing file, for reading.
  static file open(const std::filesystem::path& path);
  /// An existing file, to be added to.
  static file reopen(const std::filesystem::path& path);

  group root() const;
  /// The bytes that the file would have on disk.
  std::vector<std::byte> image();
  /// Writes what is left and closes: the last chance to hear that the disk is full.
  void close();

 private:
  file(handle id, std::string name) : id_{std::move(id)}, name_{std::move(name)} {}

  handle id_;
  std::string name_;
};

/// Rows in a chunk of a table with that many rows or more.
inline constexpr std::size_t chunk_rows_max = 16384;
/// How hard zlib tries; chunks are shuffled before.
inline constexpr unsigned deflate_level = 1;

/// What a table needs on disk before its first row: rows in all and the longest string per column.
struct table_extent {
  std::size_t rows = 0;
  std::vector<std::size_t> widths;

  /// Counts in the rows of `t`.
  void add(const table& t);
};

/// Writes a table piece by piece, in memory that does not grow with its rows.
class table_appender {
 public:
  /// Makes one dataset per column of `columns` in `where`: chunked, shuffled, deflated, with `unit`
  /// and `description`.
  table_appender(group& where, const table& columns, const table_extent& extent);

  /// Writes the next rows; programmer error beyond the extent or with other columns.
  void append(const table& rows);
  /// The same for the next chunk_rows_max rows, each column shuffled and deflated already. What
  /// came before must be whole chunks.
  void append_chunk(const std::vector<std::span<const std::byte>>& columns);

 private:
  table columns_;
  std::string file_;
  table_extent extent_;
  std::vector<handle> datasets_;
  std::vector<handle> types_;
  std::size_t written_ = 0;
};

/// Writes a whole table into `where`.
void write_table(group& where, const table& t);
/// Writes a whole table into a new group `name` of `parent`.
void write_table(group& parent, const std::string& name, const table& t);
/// Rows of one column of the table in `where`. Throws run_error where the file's size cannot bear
/// them.
std::size_t column_rows(const group& where, const std::string& name);
/// Rows first .. first + count - 1 of one column.
column read_column(const group& where, const std::string& name, std::size_t first,
                   std::size_t count);
/// The whole table in `where`, columns in the order in which they were written.
table read_table(const group& where);

}  // namespace refrain::hdf5
