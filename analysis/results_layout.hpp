// Where things stand in a result file and in the parts folder of a run that is not finished: what
// the writer and the reader share. The layout is described in schema.md.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/hdf5.hpp"
#include "analysis/run_description.hpp"

namespace refrain {

/// Version of the layout; a reader refuses files of a newer one.
inline constexpr std::int64_t schema_version = 1;

/// Rows in a part: a killed run loses at most one less of each stream.
inline constexpr std::size_t part_rows = 1024;

/// The folder of part files beside `path` while its run lasts: "FILE.h5.parts".
std::filesystem::path parts_folder(const std::filesystem::path& path);

/// The name of a part file: contender, table and number from 0.
struct part_name {
  std::size_t contender = 0;
  std::string table;
  std::size_t number = 0;

  /// "0003.requests.000012.h5".
  std::string text() const;
  /// The reverse; nothing for any other name (temporary files, run.h5).
  static std::optional<part_name> parse(std::string_view text);
  friend auto operator<=>(const part_name&, const part_name&) = default;
};

/// Writes /run and a group for each contender into an empty file.
void write_description(hdf5::group& root, const run_description& run);

/// Reads them back. Throws input_error for a file that is not ours or of a newer schema.
run_description read_description(const hdf5::group& root);

}  // namespace refrain
