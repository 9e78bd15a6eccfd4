// Numbers are checked as in JSON lines: token counts are whole and at most 1e9, times bounded.
#include "traces/csv_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace refrain {

namespace {

constexpr std::int64_t tokens_max = 1'000'000'000;
constexpr double seconds_max = 100 * 366 * 86400.0;
constexpr std::size_t shown = 40;

std::string quoted(std::string_view name) {
  return "\"" + std::string{name} + "\"";
}

std::string as_written(std::string_view field) {
  return "\"" + std::string{field.substr(0, shown)} + (field.size() > shown ? "...\"" : "\"");
}

template <class Number>
bool parse(std::string_view field, Number& number) {
  const char* end = field.data() + field.size();
  auto [at, error] = std::from_chars(field.data(), end, number);
  return error == std::errc{} && at == end;
}

}  // namespace

token_count csv_tokens(std::string_view field, std::string_view name, std::int64_t least) {
  std::int64_t tokens = 0;
  if (!parse(field, tokens)) {
    throw bad_row{quoted(name) + " is not a whole number", as_written(field)};
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

sim_time csv_seconds(std::string_view field, std::string_view name) {
  double seconds = 0;
  if (!parse(field, seconds) || !std::isfinite(seconds)) {
    throw bad_row{quoted(name) + " is not a number of seconds", as_written(field)};
  }
  if (seconds < 0 || seconds > seconds_max) {
    throw bad_row{quoted(name) + " is negative or above 100 years", as_written(field)};
  }
  return from_seconds(seconds);
}

csv_lines_source::csv_lines_source(const source_options& options, trace_info info)
    : info_{std::move(info)}, file_{options.path}, ledger_{options} {
  std::string_view line;
  if (!file_.next_line(line)) {
    throw input_error{options.path, "holds no rows"};
  }
  header_at_ = file_.where();
  try {
    split(line);
  } catch (const bad_row& row) {
    throw input_error{header_at_, std::string{"the header: "} + row.what()};
  }
  header_.assign(row_.begin(), row_.end());
  for (const std::string& name : header_) {
    if (std::ranges::count(header_, name) > 1) {
      throw input_error{header_at_, "the header names a column twice: " + as_written(name)};
    }
  }
}

bool csv_lines_source::next(request& out) {
  std::string_view line;
  while (file_.next_line(line)) {
    clear_request(out);
    try {
      split(line);
      if (row_.size() != header_.size()) {
        throw bad_row{
            "the number of fields is not the header's",
            std::to_string(row_.size()) + " fields, expected " + std::to_string(header_.size())};
      }
      read_row(row_, out);
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

std::optional<std::size_t> csv_lines_source::column(std::string_view name) const {
  auto found = std::ranges::find(header_, name);
  if (found == header_.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - header_.begin());
}

std::size_t csv_lines_source::required_column(std::string_view name) const {
  std::optional<std::size_t> at = column(name);
  if (!at) {
    std::string names;
    for (const std::string& each : header_) {
      names += (names.empty() ? "" : ", ") + as_written(each);
    }
    throw input_error{header_at_, "the header lacks the column " + quoted(name) + "; it has " +
                                      names.substr(0, 400)};
  }
  return *at;
}

void csv_lines_source::split(std::string_view line) {
  if (line.find('"') != std::string_view::npos) {
    throw bad_row{"a quoted field; fields of this format are plain"};
  }
  row_.clear();
  while (true) {
    std::size_t comma = line.find(',');
    row_.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) {
      return;
    }
    line.remove_prefix(comma + 1);
  }
}

}  // namespace refrain
