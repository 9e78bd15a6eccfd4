// Writes GGUF files for tests, good ones and broken ones: keys and tensors in the order given, each
// of them replaceable, and the head's fields free.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/gguf_file.hpp"

namespace refrain {

/// Little-endian bytes of a number.
template <class Value>
std::string bytes_of(Value value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A string as the format has it: its length, then its bytes.
inline std::string counted(std::string_view text) {
  return bytes_of(std::uint64_t{text.size()}) + std::string{text};
}

class gguf_writer {
 public:
  struct tensor_entry {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type;
    std::string bytes;
    std::uint64_t offset_added = 0;  // to where the bytes really are
  };

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t values_added = 0;   // to the count in the head
  std::uint64_t tensors_added = 0;  // likewise
  std::size_t alignment = 32;
  std::vector<tensor_entry> tensors;

  /// A value as raw bytes; replaces an earlier one of that key.
  gguf_writer& raw(std::string_view key, std::uint32_t type, std::string bytes) {
    std::string value = bytes_of(type) + std::move(bytes);
    for (auto& [each, old] : values_) {
      if (each == key) {
        old = value;
        return *this;
      }
    }
    values_.emplace_back(key, value);
    return *this;
  }
  gguf_writer& text(std::string_view key, std::string_view value) {
    return raw(key, 8, counted(value));
  }
  gguf_writer& u32(std::string_view key, std::uint32_t value) {
    return raw(key, 4, bytes_of(value));
  }
  gguf_writer& f32(std::string_view key, float value) { return raw(key, 6, bytes_of(value)); }
  gguf_writer& flag(std::string_view key, bool value) { return raw(key, 7, std::string(1, value)); }
  gguf_writer& array(std::string_view key, std::uint32_t type, std::uint64_t count,
                     const std::string& elements) {
    return raw(key, 9, bytes_of(type) + bytes_of(count) + elements);
  }
  gguf_writer& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string elements;
    for (const std::string& value : values) {
      elements += counted(value);
    }
    return array(key, 8, values.size(), elements);
  }
  gguf_writer& i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string elements;
    for (std::int32_t value : values) {
      elements += bytes_of(value);
    }
    return array(key, 5, values.size(), elements);
  }
  gguf_writer& f32s(std::string_view key, const std::vector<float>& values) {
    std::string elements;
    for (float value : values) {
      elements += bytes_of(value);
    }
    return array(key, 6, values.size(), elements);
  }
  /// Adds a value whether its key is there or not.
  gguf_writer& twice(std::string_view key) {
    values_.emplace_back(key, bytes_of(std::uint32_t{4}) + bytes_of(std::uint32_t{1}));
    return *this;
  }
  gguf_writer& remove(std::string_view key) {
    std::erase_if(values_, [&](const auto& each) { return each.first == key; });
    return *this;
  }

  gguf_writer& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                      std::string bytes) {
    tensors.push_back({std::string{name}, std::move(dims), type, std::move(bytes)});
    return *this;
  }
  gguf_writer& matrix(std::string_view name, const weight_matrix& weights) {
    return tensor(
        name,
        {static_cast<std::uint64_t>(weights.columns), static_cast<std::uint64_t>(weights.rows)},
        static_cast<std::uint32_t>(weights.type),
        {reinterpret_cast<const char*>(weights.bytes.data()), weights.bytes.size()});
  }
  gguf_writer& vector(std::string_view name, std::span<const float> values) {
    return tensor(name, {values.size()}, 0,
                  {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  /// The tensor of that name, to change it.
  tensor_entry& at(std::string_view name) {
    for (tensor_entry& each : tensors) {
      if (each.name == name) {
        return each;
      }
    }
    std::abort();
  }
  gguf_writer& remove_tensor(std::string_view name) {
    std::erase_if(tensors, [&](const tensor_entry& each) { return each.name == name; });
    return *this;
  }

  std::string bytes() const {
    std::string out = magic + bytes_of(version) + bytes_of(tensors.size() + tensors_added) +
                      bytes_of(values_.size() + values_added);
    for (const auto& [key, value] : values_) {
      out += counted(key) + value;
    }
    std::string data;
    for (const tensor_entry& each : tensors) {
      pad(data);
      out += counted(each.name) + bytes_of(static_cast<std::uint32_t>(each.dims.size()));
      for (std::uint64_t dim : each.dims) {
        out += bytes_of(dim);
      }
      out += bytes_of(each.type) + bytes_of(data.size() + each.offset_added);
      data += each.bytes;
    }
    pad(out);
    return out + data;
  }

 private:
  void pad(std::string& bytes) const {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  }

  std::vector<std::pair<std::string, std::string>> values_;
};

/// A llama file with the given weights, under the keys of their shape.
inline gguf_writer file_of(const llama_weights& weights) {
  const llama_shape& shape = weights.shape;
  auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  gguf_writer file;
  file.text("general.architecture", "llama")
      .u32("llama.block_count", u32(shape.layers))
      .u32("llama.embedding_length", u32(shape.hidden))
      .u32("llama.feed_forward_length", u32(shape.feed_forward))
      .u32("llama.attention.head_count", u32(shape.heads))
      .u32("llama.attention.head_count_kv", u32(shape.kv_heads))
      .u32("llama.context_length", u32(shape.context))
      .f32("llama.attention.layer_norm_rms_epsilon", shape.norm_epsilon);
  file.matrix("token_embd.weight", weights.token_embedding)
      .matrix("output.weight", weights.output)
      .vector("output_norm.weight", weights.output_norm);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const llama_layer& layer = weights.layers[i];
    std::string start = "blk." + std::to_string(i) + ".";
    file.vector(start + "attn_norm.weight", layer.attention_norm)
        .matrix(start + "attn_q.weight", layer.query)
        .matrix(start + "attn_k.weight", layer.key)
        .matrix(start + "attn_v.weight", layer.value)
        .matrix(start + "attn_output.weight", layer.output)
        .vector(start + "ffn_norm.weight", layer.feed_forward_norm)
        .matrix(start + "ffn_gate.weight", layer.gate)
        .matrix(start + "ffn_up.weight", layer.up)
        .matrix(start + "ffn_down.weight", layer.down);
  }
  return file;
}

}  // namespace refrain
