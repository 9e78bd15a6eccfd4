// A GGUF file (versions 2 and 3, little-endian): its keys and tensors as views of the mapped file.
// Source of the format: the GGUF specification of the ggml project. Opening checks the whole of it,
// so that no view can leave the file: counts and lengths against what is left, dims against
// overflow, whole blocks in every row, offsets aligned and inside, names told once. Left out:
// version 1, big-endian files, arrays of arrays, models split over several files.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/model_files/mapped_file.hpp"
#include "gpu/weights.hpp"

namespace refrain {

/// Types of values under keys; the numbers are those of the files.
enum class gguf_type : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

/// As messages show it: u32.
std::string_view name_of(gguf_type type);

/// A value as it lies in the file.
struct gguf_value {
  std::string_view key;
  gguf_type type;
  gguf_type element;                 ///< of an array; else the type again
  std::uint64_t count = 1;           ///< elements
  std::span<const std::byte> bytes;  ///< a string's text without its length; an array's elements
};

/// A tensor: `columns` lie side by side, `rows` is the product of all other dims.
struct gguf_tensor {
  std::string_view name;
  weight_type type;
  std::vector<std::int64_t> dims;  ///< 1 to 4, each at least 1, the contiguous one first
  std::span<const std::byte> bytes;

  std::int64_t columns() const { return dims.front(); }
  std::int64_t rows() const;
  /// As messages show it: 576 x 49152.
  std::string dims_text() const;
};

/// An open model file. Everything it hands out points into the mapping that `storage` keeps.
class gguf_file {
 public:
  /// Opens and checks; throws input_error naming the file and the key or tensor at fault.
  explicit gguf_file(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint32_t version() const { return version_; }
  std::span<const gguf_value> values() const { return values_; }
  std::span<const gguf_tensor> tensors() const { return tensors_; }
  /// Nothing where the file has no such key or tensor.
  const gguf_value* find_value(std::string_view key) const;
  const gguf_tensor* find_tensor(std::string_view name) const;

  /// Values under a key; nothing where it is absent. They throw input_error where it is of another
  /// type, an integer above 2^63 - 1 or a number that is not finite. `integer` takes every type of
  /// integer, `number` integers and floats.
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;

  /// The faults of this file, as they are thrown.
  [[noreturn]] void fail_at_key(std::string_view key, const std::string& what) const;
  [[noreturn]] void fail_at_tensor(std::string_view name, const std::string& what) const;

  std::shared_ptr<const void> storage() const { return file_; }

 private:
  class parser;

  std::string path_;
  std::shared_ptr<const mapped_file> file_;
  std::uint32_t version_ = 0;
  std::vector<gguf_value> values_;
  std::vector<gguf_tensor> tensors_;
  absl::flat_hash_map<std::string_view, std::size_t> value_of_;
  absl::flat_hash_map<std::string_view, std::size_t> tensor_of_;
};

/// A name from a file in quotes, shortened and with unprintable bytes replaced.
std::string quoted_name(std::string_view name);

}  // namespace refrain
