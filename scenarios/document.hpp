// A scenario as written: its file's keys with their lines, and what --set puts on top of them.
// Strict: a key that the schema does not have is an error with its place and the nearest name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/settings.hpp"

namespace refrain {

/// One [[contender]] of the file, or the only one of a file without any.
struct contender_section {
  std::string name;
  std::string where;           ///< "FILE:LINE"
  scenario_settings own;       ///< from the file
  scenario_settings own_sets;  ///< from --set contender.NAME.KEY
};

/// A scenario file and its --set list, checked key by key but not yet resolved.
class scenario_document {
 public:
  /// Reads a file. Throws input_error naming it, with the line where there is one.
  static scenario_document read(const std::string& path);
  /// The same from text; `file` names it in messages and tells what paths are relative to.
  scenario_document(std::string file, std::string text);

  /// Applies "KEY=VALUE". VALUE is TOML, else a string. Throws input_error naming "--set KEY".
  void set(std::string_view assignment);

  const std::string& file() const { return file_; }
  const std::string& text() const { return text_; }
  /// Defaults, the file and --set.
  scenario_settings resolved() const;
  /// The same with a contender's own values on top.
  scenario_settings resolved(const contender_section& contender) const;
  /// The contenders in order, at least one.
  const std::vector<contender_section>& contenders() const { return contenders_; }

 private:
  struct reader;

  void add_standard_contender();
  contender_section& contender_of(std::string_view rest, std::string_view assignment);

  std::string file_;
  std::string text_;
  scenario_settings written_;
  scenario_settings sets_;
  std::vector<contender_section> contenders_;
  bool has_contenders_ = false;
};

}  // namespace refrain
