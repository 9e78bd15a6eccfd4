#include "gpu/model_files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {

mapped_file::mapped_file(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    throw input_error{path, "cannot be opened: " + std::string{std::strerror(errno)}};
  }
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    ::close(file);
    throw input_error{path, status.st_size == 0 ? "is empty" : "is not a regular file"};
  }
  auto size = static_cast<std::size_t>(status.st_size);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  int reason = errno;
  ::close(file);
  if (start == MAP_FAILED) {
    throw input_error{path, "cannot be mapped: " + std::string{std::strerror(reason)}};
  }
  bytes_ = {static_cast<const std::byte*>(start), size};
}

mapped_file::~mapped_file() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace refrain
