// A file is a sequence of columns, each a length (8 bytes, as the machine has it) and that many
// bytes. A whole chunk is packed as HDF5's own filters would: first the lowest byte of every value,
// then the next one, and so on; then zlib. The rest of a table is kept as it is.
#include "analysis/packed_chunks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "analysis/durable_file.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::string_view ending = ".chunk";
constexpr std::size_t value_bytes = 8;

std::span<const std::byte> bytes_of(const column& c) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&c.values)) {
    return std::as_bytes(std::span{*integers});
  }
  return std::as_bytes(std::span{c.reals()});
}

std::vector<std::byte> shuffled(std::span<const std::byte> values) {
  std::vector<std::byte> out(values.size());
  std::size_t count = values.size() / value_bytes;
  for (std::size_t byte = 0; byte < value_bytes; ++byte) {
    for (std::size_t i = 0; i < count; ++i) {
      out[byte * count + i] = values[i * value_bytes + byte];
    }
  }
  return out;
}

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> out(size);
  int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                         reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                         static_cast<int>(hdf5::deflate_level));
  REFRAIN_ASSERT(status == Z_OK);
  out.resize(size);
  return out;
}

void add_field(std::vector<std::byte>& file, std::span<const std::byte> bytes) {
  std::uint64_t size = bytes.size();
  std::span<const std::byte> head = std::as_bytes(std::span{&size, 1});
  file.insert(file.end(), head.begin(), head.end());
  file.insert(file.end(), bytes.begin(), bytes.end());
}

std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  if (!in) {
    throw run_error{path.string() + ": cannot read what this run had written"};
  }
  return bytes;
}

/// The next column's bytes of a file, of which `at` have been read.
std::span<const std::byte> next_field(const std::filesystem::path& path,
                                      const std::vector<char>& file, std::size_t& at) {
  std::uint64_t size = 0;
  bool whole = at + sizeof size <= file.size();
  if (whole) {
    std::memcpy(&size, file.data() + at, sizeof size);
    at += sizeof size;
    whole = size <= file.size() - at;
  }
  if (!whole) {
    throw run_error{path.string() + ": is shorter than when this run wrote it"};
  }
  at += size;
  return std::as_bytes(std::span{file.data() + at - size, size});
}

}  // namespace

bool packed_chunks::can_pack(const table& columns) {
  return std::ranges::none_of(columns.columns, [](const column& c) {
    return std::holds_alternative<std::vector<std::string>>(c.values);
  });
}

bool packed_chunks::is_chunk(const std::string& name) {
  return name.ends_with(ending);
}

packed_chunks::packed_chunks(std::filesystem::path stem, const table& columns)
    : stem_{std::move(stem)}, rows_{columns.like()} {
  REFRAIN_ASSERT(can_pack(columns));
}

std::filesystem::path packed_chunks::file(std::size_t number) const {
  return stem_.string() + fmt::format(".{:06}{}", number, ending);
}

void packed_chunks::append(const table& rows) {
  REFRAIN_ASSERT(!closed_);
  for (std::size_t first = 0; first < rows.rows();) {
    std::size_t count = std::min(rows.rows() - first, hdf5::chunk_rows_max - rows_.rows());
    rows_.append(rows, first, count);
    first += count;
    if (rows_.rows() == hdf5::chunk_rows_max) {
      write_chunk();
    }
  }
}

void packed_chunks::write_chunk() {
  std::vector<std::byte> bytes;
  for (const column& c : rows_.columns) {
    add_field(bytes, deflated(shuffled(bytes_of(c))));
  }
  write_whole_file(file(whole_), bytes);
  ++whole_;
  rows_.clear();
}

void packed_chunks::close() {
  if (closed_) {
    return;
  }
  if (rest_ = rows_.rows(); rest_ > 0) {
    std::vector<std::byte> bytes;
    bytes.reserve(rows_.columns.size() * (sizeof(std::uint64_t) + rest_ * value_bytes));
    table columns = rows_.like();
    for (std::size_t i = 0; i < rows_.columns.size(); ++i) {
      add_field(bytes, bytes_of(rows_.columns[i]));
      rows_.columns[i] = std::move(columns.columns[i]);  // never all rows twice
    }
    write_whole_file(file(whole_), bytes);
  }
  rows_ = rows_.like();
  closed_ = true;
}

void packed_chunks::copy_to(hdf5::table_appender& target) const {
  REFRAIN_ASSERT(closed_);
  for (std::size_t number = 0; number < whole_; ++number) {
    std::vector<char> bytes = read_file(file(number));
    std::size_t at = 0;
    std::vector<std::span<const std::byte>> columns;
    for (std::size_t i = 0; i < rows_.columns.size(); ++i) {
      columns.push_back(next_field(file(number), bytes, at));
    }
    target.append_chunk(columns);
  }
  if (rest_ > 0) {
    copy_rest_to(target);
  }
}

void packed_chunks::copy_rest_to(hdf5::table_appender& target) const {
  std::vector<char> bytes = read_file(file(whole_));
  std::size_t at = 0;
  table rest = rows_;
  for (column& c : rest.columns) {
    std::span<const std::byte> values = next_field(file(whole_), bytes, at);
    REFRAIN_ASSERT(values.size() == rest_ * value_bytes);
    auto fill = [&](auto& numbers) {
      numbers.resize(rest_);
      std::memcpy(numbers.data(), values.data(), values.size());
    };
    std::holds_alternative<std::vector<double>>(c.values) ? fill(c.reals()) : fill(c.integers());
  }
  target.append(rest);
}

}  // namespace refrain
