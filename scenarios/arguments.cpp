#include "scenarios/arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iostream>

#include "traces/error.hpp"

namespace refrain {

namespace po = boost::program_options;

arguments::arguments(std::string_view command, std::string usage, std::string about)
    : command_{command}, usage_{std::move(usage)}, about_{std::move(about)} {
  flag("help,h", "say how this command is used");
}

void arguments::option(const char* names, const char* what, const char* description) {
  options_.add_options()(
      names, po::value<std::vector<std::string>>()->composing()->value_name(what), description);
}

void arguments::flag(const char* names, const char* description) {
  options_.add_options()(names, description);
}

void arguments::word(const char* name, const char* description) {
  words_.add_options()(name, po::value<std::vector<std::string>>()->composing(), description);
  places_.add(name, 1);
}

bool arguments::parse(const std::vector<std::string>& words) {
  po::options_description all;
  all.add(options_).add(words_);
  int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    po::store(po::command_line_parser{words}.options(all).positional(places_).style(style).run(),
              given_);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const auto& each : options_.options()) {
      names.push_back("--" + each->long_name());
    }
    std::vector<std::string_view> known{names.begin(), names.end()};
    fail(unknown_name("option", error.get_option_name(), known));
  } catch (const po::too_many_positional_options_error&) {
    fail("too many words; usage: refrain " + usage_);
  } catch (const po::error& error) {
    fail(error.what());
  }
  if (has("help")) {
    std::cout << "usage: refrain " << usage_ << "\n\n" << about_ << "\n\n" << options_;
    return false;
  }
  return true;
}

std::vector<std::string> arguments::all(const std::string& name) const {
  return has(name) ? given_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

std::string arguments::one(const std::string& name, const std::string& otherwise) const {
  std::vector<std::string> values = all(name);
  if (values.size() > 1) {
    fail("--" + name + " is given more than once");
  }
  return values.empty() ? otherwise : values.front();
}

std::vector<std::string> arguments::some(const std::string& name) const {
  if (!has(name)) {
    const char* dashes = words_.find_nothrow(name, false) == nullptr ? "--" : "";
    fail(fmt::format("{}{} is missing; usage: refrain {}", dashes, name, usage_));
  }
  return all(name);
}

std::string arguments::required(const std::string& name) const {
  some(name);
  return one(name);
}

std::int64_t arguments::number(const std::string& name, std::int64_t least,
                               std::int64_t otherwise) const {
  if (!has(name)) {
    return otherwise;
  }
  std::string text = one(name);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least) {
    fail(fmt::format("--{}: expected a whole number of at least {}, found \"{}\"", name, least,
                     text));
  }
  return value;
}

void arguments::fail(const std::string& what_is_wrong) const {
  throw usage_error{fmt::format("{}: {}", command_, what_is_wrong)};
}

}  // namespace refrain
