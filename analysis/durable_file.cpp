// Whole files through POSIX calls: each failure carries the file's name and the system's reason.
#include "analysis/durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "traces/error.hpp"

namespace refrain {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  throw run_error{path.string() + ": " + what + ": " + std::strerror(error)};
}

/// An open file that is closed with its scope.
class descriptor {
 public:
  descriptor(const std::filesystem::path& path, int flags)
      : path_{path}, fd_{::open(path.c_str(), flags | O_CLOEXEC, 0666)} {
    if (fd_ < 0) {
      fail(path_, "cannot open", errno);
    }
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        fail(path_, "cannot write", errno);
      }
      bytes = bytes.subspan(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
  }

  void sync() {
    if (::fsync(fd_) != 0) {
      fail(path_, "cannot write", errno);
    }
  }

  void close() {
    int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) {
      fail(path_, "cannot write", errno);
    }
  }

 private:
  const std::filesystem::path& path_;
  int fd_;
};

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    fail(to, "cannot be renamed into place", errno);
  }
}

}  // namespace

std::filesystem::path temporary_name(const std::filesystem::path& path) {
  return path.string() + ".tmp";
}

void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::path temporary = temporary_name(path);
  try {
    descriptor out{temporary, O_WRONLY | O_CREAT | O_TRUNC};
    out.write(bytes);
    out.close();
    rename_file(temporary, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

void sync_file(const std::filesystem::path& path) {
  descriptor{path, O_RDONLY}.sync();
}

void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path) {
  rename_file(temporary, path);
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  descriptor{folder, O_RDONLY | O_DIRECTORY}.sync();
}

}  // namespace refrain
