// What the tests of this room share: a file on disk for as long as a test needs it, and the message
// of an expected input_error.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/temporary_folder.hpp"
#include "traces/error.hpp"

namespace refrain {

/// A text file in a folder of its own (tests run at the same time), removed at the end.
class temporary_file {
 public:
  temporary_file(const std::string& name, const std::string& text)
      : path_{(folder_.path() / name).string()} {
    std::ofstream{path_, std::ios::binary} << text;
  }

  const std::string& path() const { return path_; }

 private:
  temporary_folder folder_;
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
