// Checking is by type first, then by range; every message says what was expected and what was
// found.
#include "scenarios/settings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "traces/quantiles.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

using enum setting_type;

constexpr std::pair<std::string_view, std::string_view> exclusive[] = {
    {"tiers.gpu.share", "tiers.gpu.blocks"}, {"tiers.gpu.blocks", "tiers.gpu.share"}};

std::string found_text(const written_value& written) {
  switch (written.index()) {
    case 1:
      return std::get<bool>(written) ? "true" : "false";
    case 2:
      return fmt::format("{}", std::get<std::int64_t>(written));
    case 3:
      return fmt::format("{}", std::get<double>(written));
    case 4:
      return "\"" + std::get<std::string>(written) + "\"";
    case 5:
      return "a table";
    case 6:
      return "a list";
    default:
      return "something else";
  }
}

/// Numbers as text, strings as they are: what the parsers of quantities take.
std::string plain_text(const written_value& written) {
  const auto* string = std::get_if<std::string>(&written);
  return string != nullptr ? *string : found_text(written);
}

std::string place_of(const std::string& where, std::string_view key) {
  std::string_view between = where.empty() || where.starts_with("--set") ? "" : ": ";
  return fmt::format("{}{}{}", where, between, key);
}

class checker {
 public:
  checker(const setting_rule& rule, const written_value& written, const std::string& where)
      : rule_{rule}, written_{written}, where_{place_of(where, rule.key)} {
    value_.where = where;
  }

  setting_value check(const std::string& folder) {
    switch (rule_.type) {
      case text:
        value_.text = string();
        break;
      case choice:
        check_choice();
        break;
      case path:
      case resource:
        check_path(folder);
        break;
      case paths:
        check_paths(folder);
        break;
      case integer:
      case real:
        check_number();
        break;
      case boolean:
        value_.number = get<bool>() ? 1 : 0;
        value_.text = get<bool>() ? "true" : "false";
        break;
      case duration:
      case bytes:
      case bandwidth:
      case share:
        check_quantity();
        break;
      case policy:
        check_policy();
        break;
      case quantiles:
      case time_quantiles:
        check_quantiles();
        break;
    }
    return std::move(value_);
  }

 private:
  [[noreturn]] void refuse() const {
    // A whole number that was written as a real one shows its point.
    const auto* real = std::get_if<double>(&written_);
    bool whole = real != nullptr && found_text(written_).find_first_of(".en") == std::string::npos;
    throw input_error{where_, fmt::format("expected {}, found {}{}", expected_of(rule_.type),
                                          found_text(written_), whole ? ".0" : "")};
  }

  template <class Type>
  const Type& get() const {
    const Type* found = std::get_if<Type>(&written_);
    if (found == nullptr) {
      refuse();
    }
    return *found;
  }

  const std::string& string() const { return line(get<std::string>()); }

  const std::string& line(const std::string& found) const {
    if (found.empty() || found.find('\n') != std::string::npos) {
      throw input_error{where_, "expected a string of one line that is not empty"};
    }
    return found;
  }

  void check_choice() {
    value_.text = string();
    for (std::string_view choice : rule_.choices) {
      if (value_.text == choice) {
        return;
      }
    }
    throw input_error{where_, unknown_name("value", value_.text, rule_.choices)};
  }

  void check_path(const std::string& folder) {
    value_.text = value_.path = string();
    bool is_path =
        rule_.type == path || value_.text.ends_with(".toml") || value_.text.ends_with(".gguf");
    if (is_path) {
      value_.path = resolved(value_.text, folder);
    }
  }

  static std::string resolved(const std::string& path, const std::string& folder) {
    return folder.empty() ? path : (std::filesystem::path{folder} / path).string();
  }

  void check_paths(const std::string& folder) {
    const auto* one = std::get_if<std::string>(&written_);
    for (const std::string& each : one != nullptr ? written_list{*one} : get<written_list>()) {
      value_.text += (value_.text.empty() ? "" : ", ") + line(each);
      value_.paths.push_back(resolved(each, folder));
    }
  }

  void check_number() {
    const auto* whole = std::get_if<std::int64_t>(&written_);
    if (whole == nullptr && rule_.type == integer) {
      refuse();
    }
    value_.number = whole != nullptr ? static_cast<double>(*whole) : get<double>();
    value_.text = found_text(written_);
    check_range(value_.text);
  }

  void check_range(const std::string& found) const {
    if (value_.number >= rule_.low && value_.number <= rule_.high) {
      return;
    }
    bool is_time = rule_.type == duration || rule_.type == time_quantiles;
    std::string unit = is_time ? " s" : "";
    std::string range = rule_.high >= 9e15 && value_.number < rule_.low
                            ? fmt::format("at least {}{}", rule_.low, unit)
                            : fmt::format("{}{} to {}{}", rule_.low, unit, rule_.high, unit);
    throw input_error{where_, fmt::format("must be {}, found {}", range, found)};
  }

  void check_quantity() {
    if (written_.index() < 2 || written_.index() > 4) {
      refuse();
    }
    value_.text = plain_text(written_);
    try {
      if (rule_.type == share) {
        value_.number = parse_share(value_.text);
        return;
      }
      if (rule_.type == bytes || rule_.type == bandwidth) {
        value_.number = rule_.type == bytes ? static_cast<double>(parse_bytes(value_.text).get())
                                            : parse_bandwidth(value_.text);
        check_range("\"" + value_.text + "\"");
        return;
      }
      value_.time = parse_duration(value_.text);
    } catch (const std::invalid_argument& wrong) {
      throw input_error{where_, wrong.what()};
    }
    value_.number = to_seconds(value_.time);
    check_range("\"" + value_.text + "\"");
  }

  void check_quantiles() {
    value_.text = string();
    try {
      quantile_table table = rule_.type == quantiles ? parse_quantiles(value_.text)
                                                     : parse_time_quantiles(value_.text);
      for (double end : {table.least(), table.most()}) {
        value_.number = end;
        check_range(fmt::format("{}", end));
      }
    } catch (const std::invalid_argument& wrong) {
      throw input_error{where_, wrong.what()};
    }
  }

  void check_policy() {
    if (const auto* table = std::get_if<written_policy>(&written_)) {
      value_.text = table->name;
      value_.values = table->values;
    } else {
      value_.text = string();
    }
  }

  const setting_rule& rule_;
  const written_value& written_;
  std::string where_;
  setting_value value_;
};

written_value standard_of(const setting_rule& rule) {
  std::string standard{rule.standard};
  switch (rule.type) {
    case integer:
      return std::int64_t{std::stoll(standard)};
    case real:
      return std::stod(standard);
    case boolean:
      return standard == "true";
    default:
      return standard;
  }
}

}  // namespace

setting_value check_setting(const setting_rule& rule, const written_value& written,
                            const std::string& where, const std::string& folder) {
  return checker{rule, written, where}.check(folder);
}

const scenario_settings& scenario_settings::defaults() {
  static const scenario_settings known = [] {
    scenario_settings all;
    for (const setting_rule& rule : scenario_schema()) {
      if (!rule.standard.empty()) {
        all.add(rule.key, check_setting(rule, standard_of(rule), "", ""));
      }
    }
    return all;
  }();
  return known;
}

void scenario_settings::add(std::string_view key, setting_value value) {
  for (auto [one, other] : exclusive) {
    if (key == one && has(other)) {
      throw input_error{place_of(value.where, key),
                        "excludes " + where(other) + "; give one of them"};
    }
  }
  values_.insert_or_assign(std::string{key}, std::move(value));
}

void scenario_settings::cover(const scenario_settings& above) {
  for (auto [one, other] : exclusive) {
    if (above.has(one)) {
      values_.erase(std::string{other});
    }
  }
  for (const auto& [key, value] : above.values_) {
    values_.insert_or_assign(key, value);
  }
}

const setting_value& scenario_settings::at(std::string_view key) const {
  auto found = values_.find(key);
  REFRAIN_ASSERT(found != values_.end());
  return found->second;
}

const setting_value& scenario_settings::required(std::string_view key,
                                                 const std::string& file) const {
  if (!has(key)) {
    const setting_rule* rule = find_rule(key);
    throw input_error{file, fmt::format("{} is missing: {}", key, rule->description)};
  }
  return at(key);
}

std::int64_t scenario_settings::integer(std::string_view key) const {
  return std::llround(at(key).number);
}

std::string scenario_settings::where(std::string_view key) const {
  return place_of(has(key) ? at(key).where : "", key);
}

input_error scenario_settings::located(const input_error& error) const {
  std::string_view text = error.what();
  std::size_t colon = text.find(": ");
  if (colon != std::string_view::npos && find_rule(text.substr(0, colon)) != nullptr) {
    return {where(text.substr(0, colon)), std::string{text.substr(colon + 2)}};
  }
  return error;
}

}  // namespace refrain
