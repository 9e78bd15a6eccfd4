// Warnings about contenders, one line for all that share one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace refrain {

/// Lines of the form "lru, fifo: TEXT", in order of their first contender.
class grouped_warnings {
 public:
  /// `text` holds for this contender.
  void add(const std::string& contender, const std::string& text) {
    for (auto& [names, known] : lines_) {
      if (known == text) {
        names += ", " + contender;
        return;
      }
    }
    lines_.emplace_back(contender, text);
  }

  void append_to(std::vector<std::string>& warnings) const {
    for (const auto& [names, text] : lines_) {
      warnings.push_back(names + ": " + text);
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

}  // namespace refrain
