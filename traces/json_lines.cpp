// Numbers are checked for what JSON allows and the simulator can hold: token counts are whole and
// below 1e9, times are below 285 years (64-bit nanoseconds), ids are 64-bit integers.
#include "traces/json_lines.hpp"

#include <cmath>
#include <cstdint>

namespace refrain {

namespace {

constexpr std::int64_t tokens_max = 1'000'000'000;
constexpr double ns_max = 9e18;

std::string quoted(std::string_view name) {
  return "\"" + std::string{name} + "\"";
}

/// The value as it stands in the file, cut to what a message can show.
std::string as_written(json_value& value) {
  constexpr std::size_t shown = 40;
  std::string_view token = value.raw_json_token();
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  return token.size() <= shown ? std::string{token} : std::string{token.substr(0, shown)} + "...";
}

}  // namespace

token_count json_tokens(json_value& value, std::string_view name, std::int64_t least) {
  std::int64_t tokens = 0;
  if (value.get_int64().get(tokens) != simdjson::SUCCESS) {
    throw bad_row{quoted(name) + " is not a whole number", as_written(value)};
  }
  if (tokens < 0) {
    throw bad_row{quoted(name) + " is negative", std::to_string(tokens)};
  }
  if (tokens < least) {
    throw bad_row{quoted(name) + " is below " + std::to_string(least)};
  }
  if (tokens > tokens_max) {
    throw bad_row{quoted(name) + " is above 1e9", std::to_string(tokens)};
  }
  return token_count{tokens};
}

std::uint64_t json_unsigned(json_value& value, std::string_view name) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS) {
    throw bad_row{quoted(name) + " is not a whole number from 0 to 2^64 - 1", as_written(value)};
  }
  return number;
}

bool json_flag(json_value& value, std::string_view name) {
  bool flag = false;
  if (value.get_bool().get(flag) != simdjson::SUCCESS) {
    throw bad_row{quoted(name) + " is neither true nor false", as_written(value)};
  }
  return flag;
}

std::string json_word(json_value& value, std::string_view name) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    throw bad_row{"\"" + std::string{name} + "\" is not a string"};
  }
  return std::string{text};
}

void unknown_field(std::string_view name) {
  throw bad_row{"a field that the format does not have", std::string{name.substr(0, 40)}};
}

sim_time json_time(json_value& value, std::string_view name, sim_time unit) {
  std::int64_t whole = 0;
  double number = 0;
  bool is_whole = value.get_int64().get(whole) == simdjson::SUCCESS;
  if (!is_whole && value.get_double().get(number) != simdjson::SUCCESS) {
    throw bad_row{quoted(name) + " is not a number", as_written(value)};
  }
  double ns = (is_whole ? static_cast<double>(whole) : number) * static_cast<double>(unit.count());
  if (!(std::abs(ns) < ns_max)) {
    throw bad_row{quoted(name) + " is beyond 285 years", std::to_string(ns * 1e-9) + " s"};
  }
  return is_whole ? whole * unit : sim_time{std::llround(ns)};
}

sim_time time_since(sim_time from, sim_time to, std::string_view name) {
  if (from < sim_time{0} && to > sim_time::max() + from) {
    throw bad_row{quoted(name) + " lies more than 292 years after what it is counted from"};
  }
  return to - from;
}

std::string json_id(json_value& value, std::string_view name) {
  std::string_view text;
  std::int64_t number = 0;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    return std::string{text};
  }
  if (value.get_int64().get(number) == simdjson::SUCCESS) {
    return std::to_string(number);
  }
  throw bad_row{quoted(name) + " is neither a string nor an integer", as_written(value)};
}

void json_keys(json_value& value, std::string_view name, std::vector<block_key>& keys) {
  simdjson::ondemand::array ids;
  if (value.get_array().get(ids) != simdjson::SUCCESS) {
    throw bad_row{quoted(name) + " is not an array", as_written(value)};
  }
  for (auto element : ids) {
    json_value id;
    if (element.get(id) != simdjson::SUCCESS) {
      throw bad_row{"not JSON", "inside " + quoted(name)};
    }
    std::uint64_t number = 0;
    std::int64_t below_zero = 0;
    if (id.get_uint64().get(number) == simdjson::SUCCESS) {
      keys.emplace_back(number);
    } else if (id.get_int64().get(below_zero) == simdjson::SUCCESS) {
      keys.emplace_back(static_cast<std::uint64_t>(below_zero));
    } else {
      bool is_text = as_written(id).starts_with('"');
      throw bad_row{quoted(name) + (is_text ? " holds a string" : " holds no 64-bit integer"),
                    as_written(id)};
    }
  }
}

void check_json(simdjson::error_code error) {
  if (error == simdjson::INCORRECT_TYPE) {
    throw bad_row{"not a JSON object"};
  }
  if (error != simdjson::SUCCESS) {
    throw bad_row{"not JSON", simdjson::error_message(error)};
  }
}

std::vector<std::string_view> json_walker::elements_of(std::string_view text) {
  simdjson::ondemand::document document;
  check_json(parser_.iterate(text.data(), text.size(), text.size() + line_padding).get(document));
  simdjson::ondemand::array array;
  check_json(document.get_array().get(array));
  std::vector<std::string_view> elements;
  for (auto element : array) {
    simdjson::ondemand::object object;
    check_json(element.get_object().get(object));
    check_json(object.raw_json().get(elements.emplace_back()));
  }
  return elements;
}

json_lines_source::json_lines_source(const source_options& options, trace_info info)
    : info_{std::move(info)}, file_{options.path}, ledger_{options} {}

bool json_lines_source::next(request& out) {
  std::string_view line;
  while (file_.next_line(line)) {
    clear_request(out);
    try {
      read_row(line, out);
    } catch (const bad_row& row) {
      ledger_.drop(file_.where(), row);
      continue;
    }
    ledger_.keep(out);
    if (!info_.has_sessions) {
      out.session = session_id{out.id.get()};
    }
    return true;
  }
  ledger_.finish();
  return false;
}

}  // namespace refrain
