// Files that are either whole or not there: written under a temporary name, then renamed into
// place. Nothing about their content.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace refrain {

/// The name under which `path` is written before it is whole: "PATH.tmp".
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// Writes `bytes` so that `path` survives the death of the process at any moment, whole or not at
/// all. Throws run_error naming the file; then only the temporary name may have been touched.
void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Waits until a file's bytes are on the disk itself. Throws run_error naming the file.
void sync_file(const std::filesystem::path& path);

/// Renames `temporary`, which was synced, to `path`; survives power loss. Throws run_error naming
/// the file.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path);

}  // namespace refrain
