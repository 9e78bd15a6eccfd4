// A file that must not exist yet, and that is removed again unless it is finished: nothing half
// written stays behind.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace refrain {

/// A new file, written from front to back.
class new_file {
 public:
  /// Creates it. Throws input_error where it exists or cannot be written, as all here do.
  explicit new_file(const std::string& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  /// Appends the text and empties it.
  void write(std::string& text);
  /// Ends the file; without this it is removed.
  void keep();

 private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void fail();

  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
  bool kept_ = false;
};

}  // namespace refrain
