// The one file that knows TOML. A policy's parameters become text here, since the registry checks
// them as text whether they come from a scenario or from a command line.
#include "scenarios/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "traces/toml.hpp"
#include "traces/toml_text.hpp"

namespace refrain {

namespace {

/// A scalar as text; nothing for tables, arrays and dates.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  if (const auto* integer = node.as_integer()) {
    return fmt::format("{}", integer->get());
  }
  if (const auto* real = node.as_floating_point()) {
    return fmt::format("{}", real->get());
  }
  if (const auto* string = node.as_string()) {
    return string->get();
  }
  return std::nullopt;
}

/// [[0, 1], [50, 20], ...] as "p0:1,p50:20,..."; nothing where it is something else.
std::optional<std::string> quantiles_text(const toml::array& points) {
  std::string text;
  for (const toml::node& node : points) {
    const toml::array* point = node.as_array();
    if (point == nullptr || point->size() != 2) {
      return std::nullopt;
    }
    std::optional<std::string> percent = scalar_text(*point->get(0));
    std::optional<std::string> value = scalar_text(*point->get(1));
    if (!percent || !value) {
      return std::nullopt;
    }
    text += (text.empty() ? "p" : ",p") + *percent + ":" + *value;
  }
  return text;
}

/// Monostate where the table is no policy.
written_value policy_of(const toml::table& table) {
  written_policy policy;
  for (const auto& [name, node] : table) {
    std::optional<std::string> value = scalar_text(node);
    if (!value) {
      return std::monostate{};
    }
    if (name.str() == "name" && node.is_string()) {
      policy.name = *value;
    } else {
      policy.values.emplace_back(std::string{name.str()}, *value);
    }
  }
  return policy.name.empty() ? written_value{} : written_value{policy};
}

/// Monostate where the array holds anything but strings.
written_value list_of(const toml::array& array) {
  written_list list;
  for (const toml::node& node : array) {
    if (!node.is_string()) {
      return std::monostate{};
    }
    list.push_back(node.as_string()->get());
  }
  return list;
}

written_value value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) {
    return flag->get();
  }
  if (const auto* integer = node.as_integer()) {
    return integer->get();
  }
  if (const auto* real = node.as_floating_point()) {
    return real->get();
  }
  if (const auto* string = node.as_string()) {
    return string->get();
  }
  return node.is_table() ? policy_of(*node.as_table()) : written_value{};
}

/// The same where the key's type is known.
written_value value_of(const setting_rule& rule, const toml::node& node) {
  bool takes_points =
      rule.type == setting_type::quantiles || rule.type == setting_type::time_quantiles;
  if (takes_points && node.is_array()) {
    std::optional<std::string> text = quantiles_text(*node.as_array());
    return text ? written_value{*text} : written_value{};
  }
  if (rule.type == setting_type::paths && node.is_array()) {
    return list_of(*node.as_array());
  }
  return value_of(node);
}

/// The value of --set: TOML where it is TOML, else the text itself.
written_value parse_value(const setting_rule& rule, const std::string& text) {
  if (text.find('\n') == std::string::npos && foreign_character_line(text) == 0) {
    try {
      toml::table table = toml::parse("value = " + text);
      return value_of(rule, *table.get("value"));
    } catch (const toml::parse_error& error) {
      bool meant_toml = rule.type == setting_type::policy && text.starts_with('{');
      if (meant_toml) {
        throw input_error{fmt::format("--set {}={}", rule.key, text),
                          std::string{error.description()}};
      }
    }
  }
  return text;
}

bool holds_words(setting_type type) {
  return type == setting_type::text || type == setting_type::path || type == setting_type::paths ||
         type == setting_type::resource || type == setting_type::choice;
}

/// Words may look like numbers.
written_value value_for(const setting_rule& rule, const std::string& text) {
  written_value value = parse_value(rule, text);
  bool is_words = std::holds_alternative<std::string>(value) ||
                  (rule.type == setting_type::paths && std::holds_alternative<written_list>(value));
  return holds_words(rule.type) && !is_words ? written_value{text} : value;
}

}  // namespace

struct scenario_document::reader {
  scenario_document& document;

  std::string place(const toml::key& key) const {
    return fmt::format("{}:{}", document.file_, key.source().begin.line);
  }
  std::string folder() const {
    return std::filesystem::path{document.file_}.parent_path().string();
  }

  /// Reads a table's keys into a layer; `contender` is nullptr for the scenario's own.
  void read(const toml::table& table, const std::string& prefix, scenario_settings& into,
            const contender_section* contender) {
    for (const auto& [key, node] : table) {
      std::string name = prefix + std::string{key.str()};
      if (contender != nullptr && name == "name") {
        continue;
      }
      const setting_rule* rule = find_rule(name);
      if (rule != nullptr) {
        read_value(*rule, key, node, into, contender);
      } else if (contender == nullptr && name == "contender") {
        read_contenders(key, node);
      } else if (!is_table_of_schema(name)) {
        throw input_error{place(key), unknown_key(name)};
      } else if (!node.is_table()) {
        throw input_error{place(key), name + ": expected a table, [" + name + "]"};
      } else {
        read(*node.as_table(), name + ".", into, contender);
      }
    }
  }

  void read_value(const setting_rule& rule, const toml::key& key, const toml::node& node,
                  scenario_settings& into, const contender_section* contender) {
    std::string where = place(key);
    if (contender != nullptr && !rule.per_contender) {
      throw input_error{where, fmt::format("{} cannot differ between contenders", rule.key)};
    }
    into.add(rule.key, check_setting(rule, value_of(rule, node), where, folder()));
  }

  void read_contenders(const toml::key& key, const toml::node& node) {
    const toml::array* sections = node.as_array();
    if (sections == nullptr || sections->empty() || !sections->is_homogeneous<toml::table>()) {
      throw input_error{place(key), "contender: expected [[contender]] tables"};
    }
    document.has_contenders_ = true;
    for (const toml::node& section : *sections) {
      read_contender(*section.as_table());
    }
  }

  void read_contender(const toml::table& table) {
    contender_section next;
    next.where = fmt::format("{}:{}", document.file_, table.source().begin.line);
    const toml::node* name = table.get("name");
    if (name == nullptr || !name->is_string()) {
      throw input_error{next.where, "a contender needs a name in quotes"};
    }
    next.name = name->as_string()->get();
    check_name(next);
    read(table, "", next.own, &next);
    document.contenders_.push_back(std::move(next));
  }

  void check_name(const contender_section& next) const {
    bool is_bad = next.name.empty() || next.name == "." || next.name == ".." ||
                  std::ranges::any_of(next.name, [](char c) {
                    return c == '/' || (static_cast<unsigned char>(c) < 32);
                  });
    if (is_bad) {
      throw input_error{next.where, "a contender's name must not be empty nor contain \"/\""};
    }
    for (const contender_section& other : document.contenders_) {
      if (other.name == next.name) {
        throw input_error{next.where, fmt::format("two contenders are named \"{}\"; the other is "
                                                  "at {}",
                                                  next.name, other.where)};
      }
    }
  }
};

scenario_document scenario_document::read(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw input_error{path, "is a folder; expected a scenario file"};
  }
  std::ifstream stream{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream) {
    throw input_error{path, "cannot be read; expected a scenario file"};
  }
  return {path, std::move(text)};
}

scenario_document::scenario_document(std::string file, std::string text)
    : file_{std::move(file)}, text_{std::move(text)} {
  toml::table table = parse_toml(file_, text_);
  reader{*this}.read(table, "", written_, nullptr);
  if (!has_contenders_) {
    add_standard_contender();
  }
}

void scenario_document::add_standard_contender() {
  scenario_settings base = resolved();
  bool reuses = base.text("policies.reuse") != "none";
  contenders_.assign(1, {});
  contenders_[0].name = reuses ? base.text("policies.eviction") : "none";
  contenders_[0].where = file_;
}

contender_section& scenario_document::contender_of(std::string_view rest,
                                                   std::string_view assignment) {
  contender_section* best = nullptr;
  std::vector<std::string_view> names;
  for (contender_section& each : contenders_) {
    names.push_back(each.name);
    bool fits = rest.starts_with(each.name + ".");
    if (fits && (best == nullptr || each.name.size() > best->name.size())) {
      best = &each;
    }
  }
  if (best == nullptr) {
    if (std::ranges::find(names, rest) != names.end()) {
      throw input_error{
          fmt::format("--set {}", assignment),
          fmt::format("is a contender; set one of its keys: contender.{}.KEY=VALUE", rest)};
    }
    // Names may contain dots, so a key that the schema knows tells where the name ends.
    std::size_t end = rest.find('.');
    for (std::size_t dot = end; dot != std::string_view::npos; dot = rest.find('.', dot + 1)) {
      if (find_rule(rest.substr(dot + 1)) != nullptr) {
        end = dot;
        break;
      }
    }
    throw input_error{fmt::format("--set {}", assignment),
                      unknown_name("contender", rest.substr(0, end), names)};
  }
  return *best;
}

void scenario_document::set(std::string_view assignment) {
  std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw input_error{fmt::format("--set {}", assignment), "expected KEY=VALUE"};
  }
  std::string_view key = assignment.substr(0, equals);
  std::string value{assignment.substr(equals + 1)};
  std::string_view name = key;
  std::string where = "--set ";
  scenario_settings* into = &sets_;
  constexpr std::string_view contender_table = "contender.";
  if (key.starts_with(contender_table)) {
    contender_section& one = contender_of(key.substr(contender_table.size()), key);
    where = fmt::format("--set contender.{}.", one.name);
    name = key.substr(contender_table.size() + one.name.size() + 1);
    into = &one.own_sets;
  }
  const setting_rule* rule = find_rule(name);
  if (rule == nullptr) {
    throw input_error{fmt::format("--set {}", key), unknown_key(name)};
  }
  if (into != &sets_ && !rule->per_contender) {
    throw input_error{fmt::format("--set {}", key),
                      fmt::format("{} cannot differ between contenders", name)};
  }
  into->add(name, check_setting(*rule, value_for(*rule, value), where, ""));
  if (!has_contenders_ && into == &sets_ && name.starts_with("policies.")) {
    contender_section only = contenders_[0];
    add_standard_contender();
    contenders_[0].own_sets = only.own_sets;
  }
}

scenario_settings scenario_document::resolved() const {
  scenario_settings all = scenario_settings::defaults();
  all.cover(written_);
  all.cover(sets_);
  return all;
}

scenario_settings scenario_document::resolved(const contender_section& contender) const {
  scenario_settings all = resolved();
  all.cover(contender.own);
  all.cover(contender.own_sets);
  return all;
}

}  // namespace refrain
