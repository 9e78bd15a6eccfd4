// Starts the built program in a folder of its own, as a person would, and keeps what it said.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace refrain {

/// What a finished program left.
struct finished_program {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
  /// Lines on stderr.
  long error_lines() const;
};

/// A folder that is removed at the end of the test, and the program started in it.
class program_test : public testing::Test {
 protected:
  /// Writes a file into the folder and returns its name.
  std::string write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const;
  /// Names of everything in the folder that looks like results.
  std::vector<std::string> results() const;

  /// Runs the program to its end.
  finished_program run(const std::vector<std::string>& words) const;
  /// Starts it and returns its process.
  pid_t start(const std::vector<std::string>& words) const;
  /// Waits for a started program.
  finished_program wait(pid_t process) const;
  /// Waits until one of the names is in the folder, or the program has ended: then false.
  bool wait_until_exists(const std::vector<std::string>& names, pid_t process) const;

  /// A path of the public traces, or "" where they are absent.
  static std::string shared(const std::string& name);
  /// A path of this repository.
  static std::string source(const std::string& name);

  temporary_folder made_;
  std::filesystem::path folder_ = made_.path();
};

}  // namespace refrain
