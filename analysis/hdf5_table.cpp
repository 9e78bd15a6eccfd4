// Tables in HDF5: one 1-D dataset per column, chunked, shuffled and deflated at a low level (the
// columns are counts and times: shuffling does most of the work). Strings have a fixed length, the
// longest one's, so that they compress like the rest. Extents are known before the first row, which
// keeps the index of the chunks small.
#include <algorithm>
#include <cstring>

#include "analysis/hdf5.hpp"
#include "analysis/hdf5_call.hpp"
#include "traces/error.hpp"

namespace refrain::hdf5 {
namespace {

handle stored_type(const std::string& file, const column& c, std::size_t width) {
  switch (c.values.index()) {
    case 0:
      return own(file, c.name, H5Tcopy(H5T_STD_I64LE), H5Tclose);
    case 1:
      return own(file, c.name, H5Tcopy(H5T_IEEE_F64LE), H5Tclose);
    default:
      return fixed_string_type(file, width);
  }
}

handle dataset_creation(const std::string& file, std::size_t rows) {
  handle creation = own(file, "properties", H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  hsize_t chunk = std::clamp<std::size_t>(rows, 1, chunk_rows_max);
  check(file, "properties", H5Pset_obj_track_times(creation.get(), false));
  check(file, "properties", H5Pset_chunk(creation.get(), 1, &chunk));
  check(file, "properties", H5Pset_shuffle(creation.get()));
  check(file, "properties", H5Pset_deflate(creation.get(), deflate_level));
  return creation;
}

/// Two chunks a column: rows come in order, so no chunk is compressed twice.
handle dataset_access(const std::string& file, std::size_t row_bytes) {
  handle access = own(file, "properties", H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  check(file, "properties",
        H5Pset_chunk_cache(access.get(), 31, 2 * chunk_rows_max * row_bytes, 1.0));
  return access;
}

std::vector<char> packed(const std::vector<std::string>& texts, std::size_t width) {
  std::vector<char> bytes(texts.size() * width);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    REFRAIN_ASSERT(texts[i].size() <= width);
    std::memcpy(bytes.data() + i * width, texts[i].data(), texts[i].size());
  }
  return bytes;
}

std::vector<std::string> unpacked(const std::vector<char>& bytes, std::size_t width) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    texts.emplace_back(bytes.data() + at, strnlen(bytes.data() + at, width));
  }
  return texts;
}

void write_values(const std::string& file, const column& c, hid_t dataset, hid_t type, hid_t memory,
                  hid_t target) {
  const void* data = nullptr;
  std::vector<char> bytes;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&c.values)) {
    data = integers->data();
    type = H5T_NATIVE_INT64;
  } else if (const auto* reals = std::get_if<std::vector<double>>(&c.values)) {
    data = reals->data();
    type = H5T_NATIVE_DOUBLE;
  } else {
    bytes = packed(c.texts(), H5Tget_size(type));
    data = bytes.data();
  }
  check(file, "cannot write column " + c.name,
        H5Dwrite(dataset, type, memory, target, H5P_DEFAULT, data));
}

handle open_dataset(const group& where, const std::string& name) {
  hid_t id = H5Dopen2(where.id(), name.c_str(), H5P_DEFAULT);
  return own(where.file(), "no column " + name, id, H5Dclose);
}

/// A flipped bit may claim any number of rows: deflate packs no more than 1,032 to 1.
void check_size(const std::string& file, const std::string& name, hid_t dataset, std::size_t rows,
                std::size_t row_bytes) {
  constexpr double always_fine = 1 << 20;
  constexpr double packed_most = 1100;
  double claimed = static_cast<double>(rows) * static_cast<double>(row_bytes);
  if (claimed > always_fine &&
      claimed > packed_most * static_cast<double>(H5Dget_storage_size(dataset))) {
    throw run_error{file + ": is damaged: column " + name + " claims " + std::to_string(rows) +
                    " rows"};
  }
}

std::size_t dataset_rows(const std::string& file, const std::string& name, hid_t dataset) {
  handle space = own(file, name, H5Dget_space(dataset), H5Sclose);
  hssize_t count = H5Sget_simple_extent_npoints(space.get());
  check(file, name, count);
  auto rows = static_cast<std::size_t>(count);
  handle type = own(file, name, H5Dget_type(dataset), H5Tclose);
  check_size(file, name, dataset, rows, H5Tget_size(type.get()));
  return rows;
}

/// Which rows are read, on disk and in memory.
struct row_range {
  handle target;
  handle memory;
};

row_range select_rows(const std::string& file, std::size_t rows, std::size_t first,
                      std::size_t count) {
  hsize_t all = rows;
  hsize_t start = first;
  hsize_t length = count;
  row_range range{own(file, "extent", H5Screate_simple(1, &all, nullptr), H5Sclose),
                  own(file, "extent", H5Screate_simple(1, &length, nullptr), H5Sclose)};
  check(file, "extent",
        H5Sselect_hyperslab(range.target.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr));
  return range;
}

column_values read_values(const std::string& file, const std::string& name, hid_t dataset,
                          const row_range& range, std::size_t count) {
  handle type = own(file, name, H5Dget_type(dataset), H5Tclose);
  auto read = [&](hid_t memory, void* data) {
    if (count > 0) {
      check(file, "cannot read column " + name,
            H5Dread(dataset, memory, range.memory.get(), range.target.get(), H5P_DEFAULT, data));
    }
  };
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER: {
      std::vector<std::int64_t> values(count);
      read(H5T_NATIVE_INT64, values.data());
      return values;
    }
    case H5T_FLOAT: {
      std::vector<double> values(count);
      read(H5T_NATIVE_DOUBLE, values.data());
      return values;
    }
    default: {
      std::size_t width = H5Tget_size(type.get());
      check_size(file, name, dataset, count, width);
      std::vector<char> bytes(count * width);
      read(type.get(), bytes.data());
      return unpacked(bytes, width);
    }
  }
}

}  // namespace

void table_extent::add(const table& t) {
  rows += t.rows();
  widths.resize(t.columns.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&t.columns[i].values)) {
      for (const std::string& text : *texts) {
        widths[i] = std::max(widths[i], text.size());
      }
    }
  }
}

table_appender::table_appender(group& where, const table& columns, const table_extent& extent)
    : columns_{columns.like()}, file_{where.file()}, extent_{extent} {
  std::scoped_lock lock{library_mutex()};
  extent_.widths.resize(columns.columns.size());
  hsize_t rows = extent.rows;
  handle space = own(file_, "extent", H5Screate_simple(1, &rows, nullptr), H5Sclose);
  handle creation = dataset_creation(file_, extent.rows);
  for (std::size_t i = 0; i < columns.columns.size(); ++i) {
    const column& c = columns.columns[i];
    types_.push_back(stored_type(file_, c, extent_.widths[i]));
    handle access = dataset_access(file_, H5Tget_size(types_.back().get()));
    hid_t id = H5Dcreate2(where.id(), c.name.c_str(), types_.back().get(), space.get(), H5P_DEFAULT,
                          creation.get(), access.get());
    datasets_.push_back(own(file_, "cannot make column " + c.name, id, H5Dclose));
    write_text_attribute(id, file_, "unit", c.unit);
    write_text_attribute(id, file_, "description", c.description);
  }
}

void table_appender::append(const table& rows) {
  REFRAIN_ASSERT(columns_.same_columns(rows));
  hsize_t count = rows.rows();
  hsize_t start = written_;
  REFRAIN_ASSERT(start + count <= extent_.rows);
  if (count == 0) {
    return;
  }
  std::scoped_lock lock{library_mutex()};
  hsize_t all = extent_.rows;
  handle memory = own(file_, "extent", H5Screate_simple(1, &count, nullptr), H5Sclose);
  handle target = own(file_, "extent", H5Screate_simple(1, &all, nullptr), H5Sclose);
  check(file_, "extent",
        H5Sselect_hyperslab(target.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr));
  for (std::size_t i = 0; i < datasets_.size(); ++i) {
    write_values(file_, rows.columns[i], datasets_[i].get(), types_[i].get(), memory.get(),
                 target.get());
  }
  written_ += count;
}

void table_appender::append_chunk(const std::vector<std::span<const std::byte>>& columns) {
  REFRAIN_ASSERT(columns.size() == datasets_.size() && written_ % chunk_rows_max == 0);
  REFRAIN_ASSERT(written_ + chunk_rows_max <= extent_.rows);
  std::scoped_lock lock{library_mutex()};
  hsize_t start = written_;
  for (std::size_t i = 0; i < datasets_.size(); ++i) {
    check(file_, "cannot write column " + columns_.columns[i].name,
          H5Dwrite_chunk(datasets_[i].get(), H5P_DEFAULT, 0, &start, columns[i].size(),
                         columns[i].data()));
  }
  written_ += chunk_rows_max;
}

void write_table(group& where, const table& t) {
  table_extent extent;
  extent.add(t);
  table_appender{where, t, extent}.append(t);
}

void write_table(group& parent, const std::string& name, const table& t) {
  group where = parent.create(name);
  write_table(where, t);
}

std::size_t column_rows(const group& where, const std::string& name) {
  std::scoped_lock lock{library_mutex()};
  return dataset_rows(where.file(), name, open_dataset(where, name).get());
}

column read_column(const group& where, const std::string& name, std::size_t first,
                   std::size_t count) {
  std::scoped_lock lock{library_mutex()};
  const std::string& file = where.file();
  handle dataset = open_dataset(where, name);
  std::size_t rows = dataset_rows(file, name, dataset.get());
  REFRAIN_ASSERT(first + count <= rows);
  row_range range = select_rows(file, rows, first, count);
  return {name, read_text_attribute(dataset.get(), file, "unit"),
          read_text_attribute(dataset.get(), file, "description"),
          read_values(file, name, dataset.get(), range, count)};
}

table read_table(const group& where) {
  table result;
  for (const std::string& name : where.names()) {
    result.columns.push_back(read_column(where, name, 0, column_rows(where, name)));
    if (result.columns.back().size() != result.columns.front().size()) {
      throw run_error{where.file() + ": is damaged: columns " + result.columns.front().name +
                      " and " + name + " have different lengths"};
    }
  }
  return result;
}

}  // namespace refrain::hdf5
