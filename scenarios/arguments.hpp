// Arguments of one command, read strictly with Boost.Program_options: unknown options, missing
// values and words too many are one-line errors.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// Bad usage: exit status 2.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The options of one command and what was given for them.
class arguments {
 public:
  /// `usage` follows "usage: refrain ", `about` is one sentence.
  arguments(std::string_view command, std::string usage, std::string about);

  /// Adds an option that takes a value; it may be given several times.
  void option(const char* names, const char* what, const char* description);
  /// Adds an option without a value.
  void flag(const char* names, const char* description);
  /// Adds a word without a dash, one of which at most may be given.
  void word(const char* name, const char* description);

  /// Reads the words after the command. Throws usage_error. False when help was asked for and
  /// printed to stdout.
  bool parse(const std::vector<std::string>& words);

  bool has(const std::string& name) const { return given_.count(name) > 0; }
  /// All values of an option, in order.
  std::vector<std::string> all(const std::string& name) const;
  /// The same, of an option that must be given.
  std::vector<std::string> some(const std::string& name) const;
  /// The value of an option that is given at most once, or `otherwise`.
  std::string one(const std::string& name, const std::string& otherwise = "") const;
  /// The value of a word or option that must be given.
  std::string required(const std::string& name) const;
  /// A whole number of at least `least`, or `otherwise`.
  std::int64_t number(const std::string& name, std::int64_t least, std::int64_t otherwise) const;

 private:
  [[noreturn]] void fail(const std::string& what_is_wrong) const;

  std::string command_;
  std::string usage_;
  std::string about_;
  boost::program_options::options_description options_{"options"};
  boost::program_options::options_description words_{"words"};
  boost::program_options::positional_options_description places_;
  boost::program_options::variables_map given_;
};

}  // namespace refrain
