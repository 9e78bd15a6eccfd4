// A whole file mapped for reading: its pages come in when they are touched and can be dropped
// again, so a model larger than memory still opens.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace refrain {

/// A regular file that is not empty, mapped privately and read-only; the mapping starts at a page.
class mapped_file {
 public:
  /// Throws input_error with the reason: missing, a directory, no permission, empty.
  explicit mapped_file(const std::string& path);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace refrain
