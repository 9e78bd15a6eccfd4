// A trace file as lines of text or as raw bytes, whether it is stored plain or as gzip, xz or
// Zstandard data: the first bytes tell, the name does not. Truncated and corrupt compressed data is
// an error, never an early end: Boost's filters throw for gzip and xz, and its Zstandard filter,
// which takes a cut for an end, is replaced by one that knows whether a frame is open. All data
// before the fault is delivered first. Only regular files are read, since traces are read twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace refrain {

/// Bytes that may be read (not relied on) behind every line: what simdjson needs.
inline constexpr std::size_t line_padding = 64;

/// An open trace file, read from front to back.
class input_file {
 public:
  /// Opens `path`; throws input_error with the reason (missing, a directory, no permission, bzip2).
  explicit input_file(std::string path);
  ~input_file();
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;

  /// The next line that is not blank, without its end (LF or CRLF) and without a leading byte order
  /// mark; false at the end. The view holds until the next call and has `line_padding` readable
  /// bytes behind it. Throws input_error for damaged data and for a line of 1 GiB or more.
  bool next_line(std::string_view& line);
  /// Fills `out` with the next `size` bytes; fewer only at the end, 0 after it. Throws as above.
  std::size_t read(char* out, std::size_t size);

  /// Number of the last line delivered or skipped, from 1; 0 before the first.
  std::uint64_t line() const { return line_; }
  const std::string& path() const { return path_; }
  /// "PATH:LINE" of the last line.
  std::string where() const { return path_ + ":" + std::to_string(line_); }

 private:
  class stream;

  bool find_line(std::string_view& line);
  bool refill();

  std::string path_;
  std::unique_ptr<stream> stream_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;  // of buffer_, padding not counted
  std::size_t begin_ = 0;     // first byte not yet delivered
  std::size_t end_ = 0;       // behind the last byte read
  std::uint64_t line_ = 0;
  std::uint64_t bytes_ = 0;  // delivered by read()
  bool at_end_ = false;
};

}  // namespace refrain
