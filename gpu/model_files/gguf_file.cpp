#include "gpu/model_files/gguf_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {
namespace {

template <class Value>
Value read(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// An integer of any type; nothing for other types and above 2^63 - 1.
std::optional<std::int64_t> integer_at(gguf_type type, const std::byte* at) {
  switch (type) {
    case gguf_type::u8:
      return read<std::uint8_t>(at);
    case gguf_type::i8:
      return read<std::int8_t>(at);
    case gguf_type::u16:
      return read<std::uint16_t>(at);
    case gguf_type::i16:
      return read<std::int16_t>(at);
    case gguf_type::u32:
      return read<std::uint32_t>(at);
    case gguf_type::i32:
      return read<std::int32_t>(at);
    case gguf_type::i64:
      return read<std::int64_t>(at);
    case gguf_type::u64: {
      auto value = static_cast<std::int64_t>(read<std::uint64_t>(at));
      return value < 0 ? std::nullopt : std::optional{value};
    }
    default:
      return std::nullopt;
  }
}

/// A finite number; nothing for other types and values.
std::optional<double> number_at(gguf_type type, const std::byte* at) {
  if (type != gguf_type::f32 && type != gguf_type::f64) {
    std::optional<std::int64_t> integer = integer_at(type, at);
    return integer ? std::optional{static_cast<double>(*integer)} : std::nullopt;
  }
  double value = type == gguf_type::f32 ? double{read<float>(at)} : read<double>(at);
  return std::isfinite(value) ? std::optional{value} : std::nullopt;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// An array under `key` with elements read by `read_one(type, at)`; `kind` names what is wanted.
template <class Value, class ReadOne>
std::optional<std::vector<Value>> array_of(const gguf_file& file, std::string_view key,
                                           ReadOne read_one, const std::string& kind) {
  const gguf_value* value = file.find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  bool array = value->type == gguf_type::array;
  std::size_t step = array && value->count > 0 ? value->bytes.size() / value->count : 0;
  std::vector<Value> out;
  for (std::uint64_t i = 0; array && i < value->count; ++i) {
    std::optional<Value> one = read_one(value->element, value->bytes.data() + i * step);
    if (!one) {
      file.fail_at_key(key, fmt::format("element {} is no {}", i, kind));
    }
    out.push_back(*one);
  }
  if (!array) {
    file.fail_at_key(key, fmt::format("is {}, not an array of {}s", name_of(value->type), kind));
  }
  return out;
}

}  // namespace

std::string_view name_of(gguf_type type) {
  constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t shown_max = 80;
  std::string out = "\"";
  for (char c : name.substr(0, shown_max)) {
    out += c < ' ' || c == '\x7f' ? '?' : c;
  }
  return out + (name.size() > shown_max ? "...\"" : "\"");
}

std::int64_t gguf_tensor::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    rows *= dims[i];
  }
  return rows;
}

std::string gguf_tensor::dims_text() const {
  return fmt::format("{}", fmt::join(dims, " x "));
}

const gguf_value* gguf_file::find_value(std::string_view key) const {
  auto found = value_of_.find(key);
  return found == value_of_.end() ? nullptr : &values_[found->second];
}

const gguf_tensor* gguf_file::find_tensor(std::string_view name) const {
  auto found = tensor_of_.find(name);
  return found == tensor_of_.end() ? nullptr : &tensors_[found->second];
}

void gguf_file::fail_at_key(std::string_view key, const std::string& what) const {
  throw input_error{path_, fmt::format("key {}: {}", quoted_name(key), what)};
}

void gguf_file::fail_at_tensor(std::string_view name, const std::string& what) const {
  throw input_error{path_, fmt::format("tensor {}: {}", quoted_name(name), what)};
}

std::optional<std::int64_t> gguf_file::integer(std::string_view key) const {
  const gguf_value* value = find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  std::optional<std::int64_t> integer = integer_at(value->type, value->bytes.data());
  if (!integer) {
    fail_at_key(
        key, fmt::format("is {}{}, not an integer up to 2^63 - 1",
                         value->type == gguf_type::u64 ? "a larger " : "", name_of(value->type)));
  }
  return integer;
}

std::optional<double> gguf_file::number(std::string_view key) const {
  const gguf_value* value = find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  std::optional<double> number = number_at(value->type, value->bytes.data());
  if (!number) {
    fail_at_key(key, fmt::format("is not a finite number but {}", name_of(value->type)));
  }
  return number;
}

std::optional<bool> gguf_file::flag(std::string_view key) const {
  const gguf_value* value = find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->type != gguf_type::boolean) {
    fail_at_key(key, fmt::format("is {}, not bool", name_of(value->type)));
  }
  return value->bytes.front() != std::byte{0};
}

std::optional<std::string_view> gguf_file::text(std::string_view key) const {
  const gguf_value* value = find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->type != gguf_type::string) {
    fail_at_key(key, fmt::format("is {}, not string", name_of(value->type)));
  }
  return as_text(value->bytes);
}

std::optional<std::vector<std::string_view>> gguf_file::texts(std::string_view key) const {
  const gguf_value* value = find_value(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->type != gguf_type::array || value->element != gguf_type::string) {
    fail_at_key(key, fmt::format("is {}, not an array of strings",
                                 value->type == gguf_type::array
                                     ? fmt::format("an array of {}", name_of(value->element))
                                     : std::string{name_of(value->type)}));
  }
  std::vector<std::string_view> out;
  std::span<const std::byte> rest = value->bytes;
  for (std::uint64_t i = 0; i < value->count; ++i) {
    auto size = static_cast<std::size_t>(read<std::uint64_t>(rest.data()));
    out.push_back(as_text(rest.subspan(sizeof(std::uint64_t), size)));
    rest = rest.subspan(sizeof(std::uint64_t) + size);
  }
  return out;
}

std::optional<std::vector<std::int64_t>> gguf_file::integers(std::string_view key) const {
  return array_of<std::int64_t>(*this, key, integer_at, "integer");
}

std::optional<std::vector<double>> gguf_file::numbers(std::string_view key) const {
  return array_of<double>(*this, key, number_at, "finite number");
}

}  // namespace refrain
