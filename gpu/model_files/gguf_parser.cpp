// Opening a GGUF file: one pass over keys and tensor table that checks all they say.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/gguf_file.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr std::int64_t alignment_max = std::int64_t{1} << 20;

/// Bytes of a scalar; 0 for string and array.
std::size_t size_of(gguf_type type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[static_cast<std::size_t>(type)];
}

/// Encodings of the format that cannot be read here, for messages.
std::string name_of_encoding(std::uint32_t number) {
  constexpr std::pair<std::uint32_t, std::string_view> others[] = {
      {7, "Q5_1"},  {9, "Q8_1"},    {10, "Q2_K"},   {11, "Q3_K"}, {13, "Q5_K"},
      {15, "Q8_K"}, {20, "IQ4_NL"}, {23, "IQ4_XS"}, {24, "I8"},   {25, "I16"},
      {26, "I32"},  {28, "F64"},    {39, "MXFP4"}};
  for (const auto& [each, name] : others) {
    if (each == number) {
      return fmt::format("{} ({})", number, name);
    }
  }
  return std::to_string(number);
}

std::string readable_encodings() {
  std::string names;
  for (const encoding& each : encodings()) {
    names += (names.empty() ? "" : ", ") + std::string{each.name};
  }
  return names;
}

/// a x b, or nothing above 2^63 - 1.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional{result};
}

}  // namespace

class gguf_file::parser {
 public:
  explicit parser(gguf_file& file) : file_{file}, bytes_{file.file_->bytes()} {}

  void parse() {
    read_head();
    for (std::uint64_t i = 0; i < values_; ++i) {
      place_ = fmt::format("key {} of {}", i + 1, values_);
      read_value();
    }
    for (std::uint64_t i = 0; i < tensors_; ++i) {
      place_ = fmt::format("tensor {} of {}", i + 1, tensors_);
      read_tensor();
    }
    place_tensors();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw input_error{file_.path_, place_.empty() ? what : place_ + ": " + what};
  }

  std::span<const std::byte> take(std::uint64_t size, std::string_view what) {
    if (size > bytes_.size() - at_) {
      fail(fmt::format("the file ends within its {}: {} bytes are left of {}", what,
                       bytes_.size() - at_, size));
    }
    std::span<const std::byte> taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }

  template <class Value>
  Value take_number(std::string_view what) {
    Value value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::span<const std::byte> take_string(std::string_view what) {
    return take(take_number<std::uint64_t>(what), what);
  }

  std::string_view take_name() {
    std::span<const std::byte> text = take_string("name");
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  gguf_type take_type() {
    auto number = take_number<std::uint32_t>("type");
    if (number > static_cast<std::uint32_t>(gguf_type::f64)) {
      fail(fmt::format("unknown type {}; types of values are 0 to 12", number));
    }
    return static_cast<gguf_type>(number);
  }

  void read_head() {
    std::span<const std::byte> start = bytes_.first(std::min(bytes_.size(), magic.size()));
    if (std::memcmp(start.data(), magic.data(), start.size()) != 0) {
      fail("is not a GGUF file: it does not begin with \"GGUF\"");
    }
    take(magic.size(), "head");
    file_.version_ = take_number<std::uint32_t>("head");
    if (file_.version_ != 0 && (file_.version_ & 0xffff) == 0) {
      fail("is a big-endian GGUF file; only little-endian ones are read");
    }
    if (file_.version_ != 2 && file_.version_ != 3) {
      fail(fmt::format("is of GGUF version {}; versions 2 and 3 are read", file_.version_));
    }
    tensors_ = take_number<std::uint64_t>("head");
    values_ = take_number<std::uint64_t>("head");
    constexpr std::size_t value_bytes_min = 8 + 4 + 1;
    constexpr std::size_t tensor_bytes_min = 8 + 4 + 8 + 4 + 8;
    check_count("keys", values_, value_bytes_min);
    check_count("tensors", tensors_, tensor_bytes_min);
  }

  void check_count(std::string_view what, std::uint64_t count, std::size_t bytes_min) const {
    if (count > (bytes_.size() - at_) / bytes_min) {
      fail(fmt::format("is damaged or cut short: {} {} do not fit in {} bytes", count, what,
                       bytes_.size()));
    }
  }

  void read_value() {
    gguf_value value;
    value.key = take_name();
    place_ = "key " + quoted_name(value.key);
    value.type = value.element = take_type();
    if (value.type == gguf_type::array) {
      value.element = take_type();
      value.count = take_number<std::uint64_t>("count");
    }
    if (value.type == gguf_type::string) {
      value.bytes = take_string("text");
    } else {
      value.bytes = take_elements(value.element, value.count);
    }
    if (!file_.value_of_.emplace(value.key, file_.values_.size()).second) {
      fail("stands twice in the file");
    }
    file_.values_.push_back(value);
  }

  std::span<const std::byte> take_elements(gguf_type element, std::uint64_t count) {
    if (element == gguf_type::array) {
      fail("is an array of arrays, which no key of a llama model is");
    }
    std::size_t size = size_of(element);
    std::size_t size_min = size == 0 ? sizeof(std::uint64_t) : size;
    if (count > (bytes_.size() - at_) / size_min) {
      fail(fmt::format("the file ends within its elements: {} of type {} do not fit in {} bytes",
                       count, name_of(element), bytes_.size() - at_));
    }
    if (size > 0) {
      return take(count * size, "value");
    }
    std::size_t start = at_;
    for (std::uint64_t i = 0; i < count; ++i) {
      take_string("elements");
    }
    return bytes_.subspan(start, at_ - start);
  }

  void read_tensor() {
    gguf_tensor tensor;
    tensor.name = take_name();
    place_ = "tensor " + quoted_name(tensor.name);
    auto dims = take_number<std::uint32_t>("dims");
    if (dims < 1 || dims > 4) {
      fail(fmt::format("has {} dims; 1 to 4 are allowed", dims));
    }
    for (std::uint32_t i = 0; i < dims; ++i) {
      auto dim = take_number<std::uint64_t>("dims");
      if (dim < 1 || dim > std::numeric_limits<std::int64_t>::max()) {
        fail(fmt::format("dim {} is {}; 1 to 2^63 - 1 is allowed", i, dim));
      }
      tensor.dims.push_back(static_cast<std::int64_t>(dim));
    }
    auto number = take_number<std::uint32_t>("type");
    const encoding* code = find_encoding(number);
    if (code == nullptr) {
      fail(fmt::format("is of type {}; read are {}", name_of_encoding(number),
                       readable_encodings()));
    }
    tensor.type = code->type;
    offsets_.push_back(take_number<std::uint64_t>("offset"));
    if (!file_.tensor_of_.emplace(tensor.name, file_.tensors_.size()).second) {
      fail("stands twice in the file");
    }
    file_.tensors_.push_back(std::move(tensor));
  }

  std::uint64_t alignment() const {
    constexpr std::string_view key = "general.alignment";
    std::int64_t alignment = file_.integer(key).value_or(32);
    if (alignment < 8 || alignment > alignment_max ||
        !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
      file_.fail_at_key(key, fmt::format("is {}; expected a power of two from 8 to {}", alignment,
                                         alignment_max));
    }
    return static_cast<std::uint64_t>(alignment);
  }

  /// Gives each tensor its bytes, which needs the end of the table.
  void place_tensors() {
    std::uint64_t align = alignment();
    std::uint64_t start = (at_ + align - 1) / align * align;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      gguf_tensor& tensor = file_.tensors_[i];
      place_ = "tensor " + quoted_name(tensor.name);
      std::uint64_t size = bytes_of(tensor);
      if (offsets_[i] % align != 0) {
        fail(fmt::format("its offset {} is no multiple of the alignment {}", offsets_[i], align));
      }
      std::uint64_t room = bytes_.size() - std::min<std::uint64_t>(start, bytes_.size());
      if (offsets_[i] > room || size > room - offsets_[i]) {
        fail(fmt::format("its {} bytes at offset {} lie beyond the {} bytes of data in the file",
                         size, offsets_[i], room));
      }
      tensor.bytes = bytes_.subspan(static_cast<std::size_t>(start + offsets_[i]),
                                    static_cast<std::size_t>(size));
    }
  }

  std::uint64_t bytes_of(const gguf_tensor& tensor) const {
    const encoding& code = encoding_of(tensor.type);
    if (tensor.columns() % code.block_weights != 0) {
      fail(fmt::format("its rows of {} weights are no whole blocks of {} ({})", tensor.columns(),
                       code.block_weights, code.name));
    }
    std::optional<std::int64_t> size =
        product(tensor.columns() / code.block_weights, code.block_bytes);
    for (std::size_t i = 1; i < tensor.dims.size() && size; ++i) {
      size = product(*size, tensor.dims[i]);
    }
    if (!size) {
      fail(fmt::format("its dims {} need more than 2^63 bytes", tensor.dims_text()));
    }
    return static_cast<std::uint64_t>(*size);
  }

  gguf_file& file_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t values_ = 0;
  std::uint64_t tensors_ = 0;
  std::vector<std::uint64_t> offsets_;
  std::string place_;  // what is being read, for messages
};

gguf_file::gguf_file(const std::string& path)
    : path_{path}, file_{std::make_shared<mapped_file>(path)} {
  parser{*this}.parse();
}

}  // namespace refrain
