// What the tests of this room share: a file on disk for as long as a test needs it, and the message
// of an expected input_error.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "traces/error.hpp"

namespace refrain {

/// A text file in the test's temporary folder, removed at the end.
class temporary_file {
 public:
  temporary_file(const std::string& name, const std::string& text)
      : path_{testing::TempDir() + name} {
    std::ofstream{path_, std::ios::binary} << text;
  }
  ~temporary_file() { std::remove(path_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The message of the input_error that `call` throws, or "" when it throws none.
template <class Call>
std::string input_error_of(Call call) {
  try {
    call();
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace refrain
