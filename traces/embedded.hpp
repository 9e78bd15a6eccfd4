// Text files compiled into the program (model shapes, hardware profiles), by file stem.
#pragma once

#include <span>
#include <string_view>

namespace refrain {

/// One embedded text file: its name without folder and extension, and its text.
struct embedded_file {
  std::string_view name;
  std::string_view text;
};

}  // namespace refrain
