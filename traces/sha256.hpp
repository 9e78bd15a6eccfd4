// The SHA-256 of a file as it lies on disk (packed files are not unpacked): what identifies the
// trace of a run in its results.
#pragma once

#include <string>
#include <string_view>

namespace refrain {

/// 64 lower-case hexadecimal digits. Throws input_error where the file cannot be read.
std::string sha256_of_file(const std::string& path);
/// The same of a text.
std::string sha256_of_text(std::string_view text);

}  // namespace refrain
