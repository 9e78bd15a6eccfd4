// The stream delivers what stands in its buffer before it asks for more, so that a fault in the
// data is met only after everything in front of it has been handed out.
#include "traces/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/iostreams/device/file_descriptor.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>
#include <exception>

#include "traces/decompress.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace io = boost::iostreams;

namespace {

constexpr std::size_t stream_buffer_max = std::size_t{1} << 16;
constexpr std::size_t first_capacity_max = std::size_t{1} << 17;
constexpr std::size_t buffer_min = std::size_t{1} << 12;
constexpr std::size_t line_bytes_max = std::size_t{1} << 30;

/// Files of a few rows do not pay for the buffers of large ones.
std::size_t buffer_for(std::size_t file_bytes, std::size_t most) {
  return std::clamp(file_bytes + 1, buffer_min, most);
}

struct opened_file {
  int descriptor;
  std::size_t bytes;
};

opened_file open_regular_file(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    throw input_error{path, "cannot be opened: " + std::string{std::strerror(errno)}};
  }
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    throw input_error{path, S_ISDIR(status.st_mode)
                                ? "is a directory; expected a trace file"
                                : "is not a regular file; a trace is read more than once"};
  }
  return {file, static_cast<std::size_t>(status.st_size)};
}

packing packing_of_file(int file) {
  std::array<char, 6> first{};
  ssize_t size = ::pread(file, first.data(), first.size(), 0);
  return packing_of({first.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

/// The bytes of a file, unpacked.
class input_file::stream {
 public:
  explicit stream(const std::string& path) : path_{path} {
    opened_file file = open_regular_file(path);
    io::file_descriptor_source device{file.descriptor, io::close_handle};
    bytes_ = file.bytes;
    kind_ = packing_of_file(file.descriptor);
    if (kind_ == packing::bzip2) {
      throw input_error{path, "is packed with bzip2; expected plain, gzip, xz or zstd"};
    }
    auto buffer = static_cast<std::streamsize>(buffer_for(bytes_, stream_buffer_max));
    push_unpacker(chain_, kind_, buffer);
    chain_.push(device, buffer);
  }

  /// Of the file, packed as it is.
  std::size_t bytes() const { return bytes_; }

  /// Up to `size` bytes, 0 at the end. An error says how many `units` were `done` before it.
  std::size_t read(char* out, std::size_t size, const char* units, std::uint64_t done) {
    try {
      if (chain_.sgetc() == std::char_traits<char>::eof()) {
        return 0;
      }
    } catch (const std::exception& failure) {
      fail(failure, std::string{units} + " " + std::to_string(done));
    }
    auto ready = std::min(static_cast<std::streamsize>(size), chain_.in_avail());
    return static_cast<std::size_t>(chain_.sgetn(out, ready));
  }

 private:
  [[noreturn]] void fail(const std::exception& failure, const std::string& place) const {
    if (dynamic_cast<const window_too_large*>(&failure) != nullptr) {
      throw input_error{path_, std::string{failure.what()} + "; unpack it first"};
    }
    if (kind_ == packing::plain) {
      throw input_error{path_, "cannot be read: " + std::string{failure.what()}};
    }
    throw input_error{
        path_, "truncated or corrupt " + std::string{packing_name(kind_)} + " data after " + place};
  }

  std::string path_;
  std::size_t bytes_ = 0;
  packing kind_ = packing::plain;
  io::filtering_streambuf<io::input> chain_;
};

input_file::input_file(std::string path)
    : path_{std::move(path)}, stream_{std::make_unique<stream>(path_)} {}

input_file::~input_file() = default;

std::size_t input_file::read(char* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    std::size_t got = stream_->read(out + done, size - done, "byte", bytes_);
    if (got == 0) {
      break;
    }
    done += got;
    bytes_ += got;
  }
  return done;
}

bool input_file::next_line(std::string_view& line) {
  while (find_line(line)) {
    ++line_;
    if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) {
      line.remove_prefix(3);
    }
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!is_blank(line)) {
      return true;
    }
  }
  return false;
}

bool input_file::find_line(std::string_view& line) {
  std::size_t searched = begin_;
  while (true) {
    if (const void* found = end_ == searched
                                ? nullptr
                                : std::memchr(buffer_.get() + searched, '\n', end_ - searched)) {
      auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.get());
      line = {buffer_.get() + begin_, at - begin_};
      begin_ = at + 1;
      return true;
    }
    std::size_t waiting = end_ - begin_;
    if (!refill()) {
      line = {buffer_.get() + begin_, waiting};
      begin_ = end_;
      return waiting > 0;
    }
    searched = begin_ + waiting;
  }
}

/// Reads more bytes behind those that wait, making room first; false at the end.
bool input_file::refill() {
  if (at_end_) {
    return false;
  }
  std::size_t waiting = end_ - begin_;
  if (waiting >= line_bytes_max) {
    throw input_error{path_ + ":" + std::to_string(line_ + 1), "the line is longer than 1 GiB"};
  }
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, waiting);
  }
  if (waiting == capacity_) {
    std::size_t capacity =
        std::max(buffer_for(stream_->bytes(), first_capacity_max), capacity_ * 2);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + line_padding);
    std::copy_n(buffer_.get(), waiting, larger.get());
    buffer_ = std::move(larger);
    capacity_ = capacity;
  }
  begin_ = 0;
  std::size_t got = stream_->read(buffer_.get() + waiting, capacity_ - waiting, "line", line_);
  end_ = waiting + got;
  at_end_ = got == 0;
  return !at_end_;
}

}  // namespace refrain
