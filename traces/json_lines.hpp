// What the readers of JSON lines share: walking one object's fields once, in any order, and turning
// values into numbers with messages a person can act on. simdjson's on-demand parser does the work;
// a field that no reader asks for is skipped, not validated. null counts as absent.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/input_file.hpp"
#include "traces/rows.hpp"
#include "traces/source.hpp"

namespace refrain {

using json_value = simdjson::ondemand::value;

static_assert(line_padding >= simdjson::SIMDJSON_PADDING);

/// A count of tokens: a whole number from `least` to 1e9. Throws bad_row naming the field.
token_count json_tokens(json_value& value, std::string_view name, std::int64_t least);
/// A string. Throws bad_row naming the field for anything else.
std::string json_word(json_value& value, std::string_view name);
/// Throws the bad_row of a field that the format does not have.
[[noreturn]] void unknown_field(std::string_view name);
/// A whole number from 0 to 2^64 - 1. Throws bad_row naming the field.
std::uint64_t json_unsigned(json_value& value, std::string_view name);
/// true or false. Throws bad_row.
bool json_flag(json_value& value, std::string_view name);
/// A time: a number, whole or not, of units of `unit`; 285 years at most. Throws bad_row.
sim_time json_time(json_value& value, std::string_view name, sim_time unit);
/// The time from `from` to a field that does not lie before it. Throws bad_row where no clock holds
/// it.
sim_time time_since(sim_time from, sim_time to, std::string_view name);
/// An id that is a string or an integer, as text. Throws bad_row.
std::string json_id(json_value& value, std::string_view name);
/// An array of 64-bit ids, negative ones by their two's complement. Throws bad_row.
void json_keys(json_value& value, std::string_view name, std::vector<block_key>& keys);

/// Sets a field that may be given only once, under whatever alias. Throws bad_row.
template <class Value>
void set_once(std::optional<Value>& field, Value value, std::string_view name) {
  if (field) {
    throw bad_row{"a field is given twice", std::string{name}};
  }
  field = std::move(value);
}

/// The value of a field that must be there. Throws bad_row.
template <class Value>
const Value& required(const std::optional<Value>& field, const char* name) {
  if (!field) {
    throw bad_row{std::string{"missing field \""} + name + "\""};
  }
  return *field;
}

/// Throws bad_row for what is wrong with a piece of JSON.
void check_json(simdjson::error_code error);

/// Calls visit(name, value) for every field that is not null. Throws bad_row.
template <class Visit>
void visit_fields(simdjson::ondemand::object& object, Visit&& visit) {
  for (auto field : object) {
    std::string_view name;
    json_value value;
    bool is_null = false;
    check_json(field.unescaped_key().get(name));
    check_json(field.value().get(value));
    check_json(value.is_null().get(is_null));
    if (!is_null) {
      visit(name, value);
    }
  }
}

/// Walks one object after the other. What is read must have `line_padding` readable bytes behind
/// it.
class json_walker {
 public:
  /// Calls visit(name, value) for every field that is not null. Throws bad_row for what is no JSON
  /// object.
  template <class Visit>
  void for_each_field(std::string_view text, Visit&& visit) {
    simdjson::ondemand::document document;
    check_json(parser_.iterate(text.data(), text.size(), text.size() + line_padding).get(document));
    simdjson::ondemand::object object;
    check_json(document.get_object().get(object));
    visit_fields(object, visit);
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      throw bad_row{"not JSON", "something follows the object"};
    }
  }

  /// The elements of an array as they are written. Throws bad_row.
  std::vector<std::string_view> elements_of(std::string_view text);

 private:
  simdjson::ondemand::parser parser_;
};

/// A source that reads one JSON object a line; a format says what a row means.
class json_lines_source : public source {
 public:
  json_lines_source(const source_options& options, trace_info info);

  const trace_info& info() const final { return info_; }
  const row_counts& counts() const final { return ledger_.counts(); }
  bool next(request& out) final;

 protected:
  /// Fills the empty request `out` from a line by way of for_each_field. Throws bad_row, and then
  /// leaves the reader as it was before the row.
  virtual void read_row(std::string_view line, request& out) = 0;

  /// Calls visit(name, value) for every field that is not null. Throws bad_row for what is no JSON
  /// object.
  template <class Visit>
  void for_each_field(std::string_view line, Visit&& visit) {
    walker_.for_each_field(line, visit);
  }

  /// The first line, for a format that begins with a header; it is no row. False where there is
  /// none.
  bool take_header(std::string_view& line) { return file_.next_line(line); }
  /// "PATH:LINE" of the last line taken.
  std::string where() const { return file_.where(); }

  trace_info info_;

 private:
  input_file file_;
  row_ledger ledger_;
  json_walker walker_;
};

}  // namespace refrain
