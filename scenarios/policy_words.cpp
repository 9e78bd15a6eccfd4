#include "scenarios/policy_words.hpp"

#include "policies/plugin.hpp"
#include "traces/error.hpp"

namespace refrain {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

std::string parse_named(const std::string& text, const std::string& where, given_parameters& into) {
  std::string name = text.substr(0, text.find(':'));
  if (name.size() == text.size()) {
    return name;
  }
  for (const std::string& part : split(text.substr(name.size() + 1), ',')) {
    std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error{where, "expected NAME:PARAMETER=VALUE,..."};
    }
    into.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return name;
}

void declare_plugins(arguments& given) {
  given.option("plugin", "FILE", "a shared library with policies in it; may be repeated");
}

void load_plugins(const arguments& given) {
  for (const std::string& file : given.all("plugin")) {
    load_plugin(file, "--plugin");
  }
}

}  // namespace refrain
