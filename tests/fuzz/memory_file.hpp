// Readers take a path of a regular file and may read it twice. This file lives in memory, so that a
// fuzzer can hand over thousands of inputs a second.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace refrain {

/// A file in memory with a path of its own.
class memory_file {
 public:
  memory_file() : file_{memfd_create("fuzz", 0)} {
    if (file_ < 0) {
      std::abort();
    }
  }
  ~memory_file() { close(file_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  /// Replaces the content.
  void write(const std::uint8_t* data, std::size_t size) const {
    auto bytes = static_cast<off_t>(size);
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != bytes) {
      std::abort();
    }
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace refrain
