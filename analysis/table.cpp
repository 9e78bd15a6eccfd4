// Tables in memory: access by name and type, and appending.
#include "analysis/table.hpp"

#include <algorithm>

#include "traces/error.hpp"

namespace refrain {
namespace {

template <class Values, class Column>
auto& values_of(Column& c) {
  auto* values = std::get_if<Values>(&c.values);
  REFRAIN_ASSERT(values != nullptr);
  return *values;
}

template <class Table>
auto find_in(Table& t, std::string_view name) {
  auto at = std::ranges::find(t.columns, name, &column::name);
  return at == t.columns.end() ? nullptr : &*at;
}

}  // namespace

std::size_t column::size() const {
  return std::visit([](const auto& v) { return v.size(); }, values);
}
const std::vector<std::int64_t>& column::integers() const {
  return values_of<std::vector<std::int64_t>>(*this);
}
std::vector<std::int64_t>& column::integers() {
  return values_of<std::vector<std::int64_t>>(*this);
}
const std::vector<double>& column::reals() const {
  return values_of<std::vector<double>>(*this);
}
std::vector<double>& column::reals() {
  return values_of<std::vector<double>>(*this);
}
const std::vector<std::string>& column::texts() const {
  return values_of<std::vector<std::string>>(*this);
}
std::vector<std::string>& column::texts() {
  return values_of<std::vector<std::string>>(*this);
}

column integer_column(std::string name, std::string unit, std::string description) {
  return {std::move(name), std::move(unit), std::move(description), std::vector<std::int64_t>{}};
}
column real_column(std::string name, std::string unit, std::string description) {
  return {std::move(name), std::move(unit), std::move(description), std::vector<double>{}};
}
column text_column(std::string name, std::string description) {
  return {std::move(name), "", std::move(description), std::vector<std::string>{}};
}

std::size_t table::rows() const {
  if (columns.empty()) {
    return 0;
  }
  std::size_t rows = columns.front().size();
  for (const column& c : columns) {
    REFRAIN_ASSERT(c.size() == rows);
  }
  return rows;
}

const column* table::find(std::string_view name) const {
  return find_in(*this, name);
}

const column& table::at(std::string_view name) const {
  const column* found = find(name);
  REFRAIN_ASSERT(found != nullptr);
  return *found;
}

column& table::at(std::string_view name) {
  column* found = find_in(*this, name);
  REFRAIN_ASSERT(found != nullptr);
  return *found;
}

table table::like() const {
  table result;
  for (const column& c : columns) {
    auto none = std::visit(
        [](const auto& v) -> column_values { return std::decay_t<decltype(v)>{}; }, c.values);
    result.columns.push_back({c.name, c.unit, c.description, std::move(none)});
  }
  return result;
}

bool table::same_columns(const table& other) const {
  return std::ranges::equal(columns, other.columns, [](const column& a, const column& b) {
    return a.name == b.name && a.values.index() == b.values.index();
  });
}

void table::append(const table& other, std::size_t first, std::size_t count) {
  REFRAIN_ASSERT(same_columns(other));
  REFRAIN_ASSERT(first + count <= other.rows());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::visit(
        [&](auto& into) {
          const auto& from = std::get<std::decay_t<decltype(into)>>(other.columns[i].values);
          auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
          into.insert(into.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
        },
        columns[i].values);
  }
}

void table::clear() {
  for (column& c : columns) {
    std::visit([](auto& v) { v.clear(); }, c.values);
  }
}

}  // namespace refrain
