// Flattens a TOML document into dotted keys and reads them strictly. The line of every key is kept,
// since a message without one is of little use in a file of fifty numbers.
#include "gpu/settings_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "traces/error.hpp"
#include "traces/toml.hpp"

namespace refrain {

struct settings_file::parser {
  std::vector<entry>& entries;

  static value convert(const toml::node& node) {
    if (const auto* flag = node.as_boolean()) {
      return flag->get();
    }
    if (const auto* integer = node.as_integer()) {
      return integer->get();
    }
    if (const auto* real = node.as_floating_point()) {
      return real->get();
    }
    if (const auto* text = node.as_string()) {
      return text->get();
    }
    if (const auto* array = node.as_array()) {
      return convert_array(*array);
    }
    return std::monostate{};
  }

  static value convert_array(const toml::array& array) {
    std::vector<std::string> texts;
    for (const toml::node& element : array) {
      const auto* text = element.as_string();
      if (text == nullptr) {
        return std::monostate{};
      }
      texts.push_back(text->get());
    }
    return texts;
  }

  void flatten(const std::string& prefix, const toml::table& table) {
    for (const auto& [name, node] : table) {
      std::string key = prefix + std::string{name.str()};
      const toml::table* below = node.as_table();
      if (below != nullptr && !below->empty()) {
        flatten(key + ".", *below);
      } else {
        entries.push_back({std::move(key), convert(node), node.source().begin.line});
      }
    }
  }
};

settings_file::settings_file(std::string file, std::string_view text) : file_{std::move(file)} {
  parser{entries_}.flatten("", parse_toml(file_, text));
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const entry& a, const entry& b) { return a.line < b.line; });
}

void settings_file::allow_only(std::span<const std::string_view> known,
                               std::span<const std::string_view> open) const {
  for (const entry& each : entries_) {
    bool below_open = std::any_of(open.begin(), open.end(), [&](std::string_view table) {
      return each.key.starts_with(std::string{table} + ".");
    });
    if (!below_open && std::find(known.begin(), known.end(), each.key) == known.end()) {
      throw input_error{file_ + ":" + std::to_string(each.line),
                        unknown_name("key", each.key, known)};
    }
  }
}

bool settings_file::has(std::string_view key) const {
  std::string prefix = std::string{key} + ".";
  return std::any_of(entries_.begin(), entries_.end(), [&](const entry& each) {
    return each.key == key || each.key.starts_with(prefix);
  });
}

std::vector<std::string> settings_file::names_below(std::string_view table) const {
  std::string prefix = std::string{table} + ".";
  std::vector<std::string> names;
  for (const entry& each : entries_) {
    if (each.key.starts_with(prefix)) {
      std::string name = each.key.substr(prefix.size());
      name.resize(std::min(name.find('.'), name.size()));
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

std::int64_t settings_file::count(std::string_view key) const {
  const auto* integer = std::get_if<std::int64_t>(&require(key).content);
  if (integer == nullptr || *integer < 1) {
    fail(key, "expected an integer of at least 1");
  }
  return *integer;
}

double settings_file::number(std::string_view key, least bound) const {
  const entry& found = require(key);
  const auto* real = std::get_if<double>(&found.content);
  const auto* integer = std::get_if<std::int64_t>(&found.content);
  double number = real != nullptr      ? *real
                  : integer != nullptr ? static_cast<double>(*integer)
                                       : std::nan("");
  bool inside = bound == least::positive ? number > 0
                : bound == least::zero   ? number >= 0
                                         : number >= 1;
  if (!std::isfinite(number) || !inside) {
    fail(key, bound == least::positive ? "expected a number above 0"
              : bound == least::zero   ? "expected a number of at least 0"
                                       : "expected a number of at least 1");
  }
  return number;
}

std::string settings_file::text(std::string_view key) const {
  const auto* text = std::get_if<std::string>(&require(key).content);
  if (text == nullptr || text->empty()) {
    fail(key, "expected a string that is not empty");
  }
  return *text;
}

bool settings_file::flag(std::string_view key) const {
  const auto* flag = std::get_if<bool>(&require(key).content);
  if (flag == nullptr) {
    fail(key, "expected true or false");
  }
  return *flag;
}

std::vector<std::string> settings_file::texts(std::string_view key) const {
  const auto* texts = std::get_if<std::vector<std::string>>(&require(key).content);
  if (texts == nullptr) {
    fail(key, "expected an array of strings");
  }
  return *texts;
}

void settings_file::fail(std::string_view key, const std::string& what_is_wrong) const {
  const entry* found = find(key);
  std::string where = found == nullptr ? file_ : file_ + ":" + std::to_string(found->line);
  throw input_error{where + ": " + std::string{key}, what_is_wrong};
}

const settings_file::entry* settings_file::find(std::string_view key) const {
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const entry& each) { return each.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

const settings_file::entry& settings_file::require(std::string_view key) const {
  const entry* found = find(key);
  if (found == nullptr) {
    fail(key, "missing");
  }
  return *found;
}

settings_file find_settings(std::string_view kind, std::string_view key, std::string_view folder,
                            const std::string& name, std::span<const embedded_file> files) {
  if (name.ends_with(".toml")) {
    std::ifstream stream{name, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{stream}, {}};
    if (!stream) {
      throw input_error{name, "cannot be read; expected the TOML file of a " + std::string{kind}};
    }
    return settings_file{name, text};
  }
  for (const embedded_file& file : files) {
    if (file.name == name) {
      return settings_file{std::string{folder} + "/" + name + ".toml", file.text};
    }
  }
  std::vector<std::string> sorted = sorted_names(files);
  std::vector<std::string_view> known{sorted.begin(), sorted.end()};
  throw input_error{std::string{key}, unknown_name(kind, name, known)};
}

std::string settings_name(const std::string& name) {
  return name.ends_with(".toml") ? std::filesystem::path{name}.stem().string() : name;
}

std::vector<std::string> sorted_names(std::span<const embedded_file> files) {
  std::vector<std::string> names;
  for (const embedded_file& file : files) {
    names.emplace_back(file.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace refrain
