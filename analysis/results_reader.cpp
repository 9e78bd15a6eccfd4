// The result reader: one HDF5 file at a time is open, so parts by the thousand cost no memory.
#include "analysis/results_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>

#include "analysis/hdf5.hpp"
#include "analysis/results_layout.hpp"
#include "traces/error.hpp"

namespace refrain {

/// Where the results are: `whole` for a finished run, else part files by contender and table.
struct reader_state {
  std::filesystem::path path;
  run_description run;
  std::optional<hdf5::file> whole;
  std::vector<std::map<std::string, std::vector<part_name>, std::less<>>> parts;

  hdf5::group contender(std::size_t index) const {
    return whole->root().open("contenders").open(run.contenders[index].name);
  }
};

namespace {

namespace fs = std::filesystem;

/// FILE.h5 where FILE.h5.parts is named.
fs::path result_name(const fs::path& path) {
  std::string text = path.string();
  while (text.ends_with('/')) {
    text.pop_back();
  }
  return text.ends_with(".h5.parts") ? text.substr(0, text.size() - 6) : text;
}

hdf5::file open_ours(const fs::path& path) {
  try {
    return hdf5::file::open(path);
  } catch (const run_error& e) {
    std::string text = e.what();
    std::string prefix = path.string() + ": ";
    throw input_error{path.string(),
                      "expected Refrain's results: " +
                          (text.starts_with(prefix) ? text.substr(prefix.size()) : text)};
  }
}

void find_parts(reader_state& state, const fs::path& folder) {
  std::vector<part_name> all;
  for (const fs::directory_entry& entry : fs::directory_iterator{folder}) {
    if (auto part = part_name::parse(entry.path().filename().string())) {
      all.push_back(std::move(*part));
    }
  }
  std::ranges::sort(all);
  state.parts.resize(state.run.contenders.size());
  for (part_name& part : all) {
    if (part.contender < state.parts.size()) {
      state.parts[part.contender][part.table].push_back(part);
    }
  }
}

/// Parts are numbered from 0 without gaps; only what comes after the last cannot be missed.
std::vector<std::string> missing_parts(const reader_state& state) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < state.parts.size(); ++i) {
    for (const auto& [table, parts] : state.parts[i]) {
      std::size_t gone = parts.back().number + 1 - parts.size();
      if (gone > 0) {
        warnings.push_back(state.run.contenders[i].name +
                           ": rows are missing: " + std::to_string(gone) + " of the first " +
                           std::to_string(parts.back().number + 1) + " parts of table " + table +
                           " are gone");
      }
    }
  }
  return warnings;
}

/// Of the named columns those that the table in `where` has; all when none is named.
std::vector<std::string> columns_of(const hdf5::group& where,
                                    std::span<const std::string_view> columns) {
  if (columns.empty()) {
    return where.names();
  }
  std::vector<std::string> names;
  for (std::string_view name : columns) {
    if (where.has(std::string{name})) {
      names.emplace_back(name);
    }
  }
  return names;
}

/// The rows of a table, all columns alike.
std::size_t rows_of(const hdf5::group& where, const std::vector<std::string>& names) {
  std::size_t rows = names.empty() ? 0 : hdf5::column_rows(where, names.front());
  for (const std::string& name : names) {
    if (hdf5::column_rows(where, name) != rows) {
      throw run_error{where.file() + ": is damaged: columns " + names.front() + " and " + name +
                      " have different lengths"};
    }
  }
  return rows;
}

/// Rows handed over at a time: half a chunk of the file, which the library keeps meanwhile.
constexpr std::size_t piece_rows = 8192;

void visit_pieces(const hdf5::group& where, std::span<const std::string_view> columns,
                  const std::function<void(const table& rows)>& take) {
  std::vector<std::string> names = columns_of(where, columns);
  std::size_t rows = rows_of(where, names);
  std::size_t first = 0;
  do {
    std::size_t count = std::min(piece_rows, rows - first);
    table piece;
    for (const std::string& name : names) {
      piece.columns.push_back(hdf5::read_column(where, name, first, count));
    }
    take(piece);
    first += count;
  } while (first < rows);
}

table read_optional(const reader_state& state, const std::string& name) {
  if (!state.whole || !state.whole->root().has(name)) {
    return {};
  }
  return hdf5::read_table(state.whole->root().open(name));
}

}  // namespace

results_reader::results_reader(const fs::path& path) : state_{std::make_unique<reader_state>()} {
  state_->path = result_name(path);
  fs::path folder = parts_folder(state_->path);
  std::error_code error;
  bool parts_only = path.extension() == ".parts";
  if (!parts_only && fs::exists(state_->path, error)) {
    state_->whole = open_ours(state_->path);
    state_->run = read_description(state_->whole->root());
  } else if (fs::exists(folder / "run.h5", error)) {
    hdf5::file head = open_ours(folder / "run.h5");
    state_->run = read_description(head.root());
    find_parts(*state_, folder);
  } else {
    throw input_error{parts_only ? folder.string() : state_->path.string(),
                      parts_only ? "expected the parts of an unfinished run; there are none"
                                 : "expected a result file; there is none, nor the parts of an "
                                   "unfinished run"};
  }
}

results_reader::~results_reader() = default;
results_reader::results_reader(results_reader&&) noexcept = default;

bool results_reader::complete() const {
  return state_->whole.has_value();
}
fs::path results_reader::path() const {
  return state_->whole ? state_->path : parts_folder(state_->path);
}
const run_description& results_reader::run() const {
  return state_->run;
}

std::vector<std::string> results_reader::tables(std::size_t contender) const {
  REFRAIN_ASSERT(contender < state_->run.contenders.size());
  std::vector<std::string> names;
  if (state_->whole) {
    names = state_->contender(contender).names();
    std::erase(names, "parameters");
    std::ranges::sort(names);
  } else {
    for (const auto& [name, parts] : state_->parts[contender]) {
      names.push_back(name);
    }
  }
  return names;
}

bool results_reader::has(std::size_t contender, std::string_view name) const {
  return std::ranges::count(tables(contender), name) > 0;
}

void results_reader::visit(std::size_t contender, const std::string& name,
                           std::span<const std::string_view> columns,
                           const std::function<void(const table& rows)>& take) const {
  REFRAIN_ASSERT(contender < state_->run.contenders.size());
  if (state_->whole) {
    visit_pieces(state_->contender(contender).open(name), columns, take);
    return;
  }
  auto found = state_->parts[contender].find(name);
  if (found == state_->parts[contender].end()) {
    throw run_error{parts_folder(state_->path).string() + ": no part of table " + name};
  }
  for (const part_name& part : found->second) {
    hdf5::file file = hdf5::file::open(parts_folder(state_->path) / part.text());
    visit_pieces(file.root(), columns, take);
  }
}

table results_reader::read(std::size_t contender, const std::string& name,
                           std::span<const std::string_view> columns) const {
  table result;
  visit(contender, name, columns, [&](const table& rows) {
    if (result.columns.empty()) {
      result = rows;
    } else {
      result.append(rows);
    }
  });
  return result;
}

column results_reader::read_column(std::size_t contender, const std::string& name,
                                   std::string_view column_name) const {
  table found = read(contender, name, std::span{&column_name, 1});
  if (found.columns.empty()) {
    throw run_error{state_->path.string() + ": table " + name + " has no column " +
                    std::string{column_name}};
  }
  return std::move(found.columns.front());
}

table results_reader::comparison() const {
  return read_optional(*state_, "comparison");
}
table results_reader::bounds() const {
  return read_optional(*state_, "bounds");
}

std::vector<std::string> results_reader::warnings() const {
  if (!state_->whole) {
    return missing_parts(*state_);
  }
  table t = read_optional(*state_, "warnings");
  return t.columns.empty() ? std::vector<std::string>{} : t.at("text").texts();
}

}  // namespace refrain
