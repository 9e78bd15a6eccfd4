#include "gpu/model_files/llama_file.hpp"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "gpu/model_files/encodings.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

// Far above every model; products of three dims stay below 2^63.
constexpr std::int64_t dimension_max = std::int64_t{1} << 20;
constexpr std::int64_t layers_max = 4096;
constexpr std::int64_t positions_max = std::int64_t{1} << 31;
constexpr std::int64_t vocabulary_max = std::int64_t{1} << 24;

/// Reads shape and tensors of one file and notes which tensors were used.
class llama_reader {
 public:
  explicit llama_reader(const gguf_file& file) : file_{file} {}

  llama_weights read() {
    check_kind();
    out_.name = file_.text("general.name").value_or(std::string_view{});
    if (out_.name.empty()) {
      out_.name = file_.path();
    }
    read_shape();
    check_rotary_scaling();
    out_.storage = file_.storage();
    read_tensors();
    refuse_unused();
    out_.fingerprint = fingerprint_of_weights(out_);
    return std::move(out_);
  }

 private:
  void check_kind() const {
    constexpr std::string_view key = "general.architecture";
    std::optional<std::string_view> kind = file_.text(key);
    if (!kind) {
      file_.fail_at_key(key, "is missing");
    }
    if (*kind != "llama") {
      file_.fail_at_key(key,
                        fmt::format("is {}; models of \"llama\" are read", quoted_name(*kind)));
    }
    if (file_.integer("split.count").value_or(1) > 1) {
      file_.fail_at_key("split.count", "is one part of a model; join the parts to one file first");
    }
    if (file_.integer("llama.expert_count").value_or(0) > 0) {
      file_.fail_at_key("llama.expert_count", "models with experts are not implemented");
    }
  }

  std::int64_t dimension(std::string_view key, std::int64_t absent,
                         std::int64_t most = dimension_max) const {
    std::int64_t value = file_.integer(key).value_or(absent);
    if (value == 0 && absent == 0) {
      file_.fail_at_key(key, "is missing or 0");
    }
    if (value < 1 || value > most) {
      file_.fail_at_key(key, fmt::format("is {}; expected 1 to {}", value, most));
    }
    return value;
  }

  void read_shape() {
    llama_shape& shape = out_.shape;
    shape.layers = dimension("llama.block_count", 0, layers_max);
    shape.hidden = dimension("llama.embedding_length", 0);
    shape.feed_forward = dimension("llama.feed_forward_length", 0);
    shape.heads = dimension("llama.attention.head_count", 0);
    shape.kv_heads = dimension("llama.attention.head_count_kv", shape.heads);
    if (shape.heads % shape.kv_heads != 0) {
      file_.fail_at_key("llama.attention.head_count_kv",
                        fmt::format("{} heads cannot be shared out over {} key-value heads",
                                    shape.heads, shape.kv_heads));
    }
    read_head_size();
    shape.context = dimension("llama.context_length", 0, positions_max);
    shape.vocabulary = dimension("llama.vocab_size", rows_of_embedding(), vocabulary_max);
    read_rotary();
    double epsilon = number("llama.attention.layer_norm_rms_epsilon");
    if (!(epsilon > 0 && epsilon < 1)) {
      file_.fail_at_key("llama.attention.layer_norm_rms_epsilon",
                        fmt::format("is {}; expected above 0 and below 1", epsilon));
    }
    shape.norm_epsilon = static_cast<float>(epsilon);
  }

  double number(std::string_view key) const {
    std::optional<double> value = file_.number(key);
    if (!value) {
      file_.fail_at_key(key, "is missing");
    }
    return *value;
  }

  std::int64_t rows_of_embedding() const {
    const gguf_tensor* embedding = file_.find_tensor("token_embd.weight");
    if (embedding == nullptr) {
      file_.fail_at_tensor("token_embd.weight", "is missing");
    }
    return embedding->rows();
  }

  void read_head_size() {
    llama_shape& shape = out_.shape;
    constexpr std::string_view key_length = "llama.attention.key_length";
    constexpr std::string_view value_length = "llama.attention.value_length";
    if (file_.find_value(key_length) == nullptr && shape.hidden % shape.heads != 0) {
      file_.fail_at_key("llama.attention.head_count",
                        fmt::format("{} heads do not divide llama.embedding_length = {}",
                                    shape.heads, shape.hidden));
    }
    shape.head_size = dimension(key_length, std::max<std::int64_t>(1, shape.hidden / shape.heads));
    std::int64_t value_size = dimension(value_length, shape.head_size);
    if (value_size != shape.head_size) {
      file_.fail_at_key(value_length,
                        fmt::format("is {}; values of another size than the keys' {} are not "
                                    "implemented",
                                    value_size, shape.head_size));
    }
  }

  void read_rotary() {
    llama_shape& shape = out_.shape;
    constexpr std::string_view size = "llama.rope.dimension_count";
    constexpr std::string_view base = "llama.rope.freq_base";
    shape.rotary_size = dimension(size, shape.head_size);
    if (shape.rotary_size % 2 != 0 || shape.rotary_size > shape.head_size) {
      file_.fail_at_key(size, fmt::format("is {}; expected an even number up to the head's {}",
                                          shape.rotary_size, shape.head_size));
    }
    shape.rotary_base = file_.number(base).value_or(10000);
    if (shape.rotary_base < 1) {
      file_.fail_at_key(base, fmt::format("is {}; expected 1 or more", shape.rotary_base));
    }
  }

  void check_rotary_scaling() const {
    constexpr std::string_view type = "llama.rope.scaling.type";
    std::string_view kind = file_.text(type).value_or("none");
    bool linear_by_one = kind == "linear" && file_.number("llama.rope.scaling.factor") == 1.0;
    if (kind != "none" && !linear_by_one) {
      file_.fail_at_key(
          type, fmt::format("is {}; scaled rotary angles are not implemented", quoted_name(kind)));
    }
    for (std::string_view key : {"llama.rope.scaling.factor", "llama.rope.scale_linear",
                                 "llama.rope.scaling.attn_factor"}) {
      double factor = file_.number(key).value_or(1);
      if (kind == "none" && factor != 1 && factor != 0) {
        file_.fail_at_key(key,
                          fmt::format("is {}; scaled rotary angles are not implemented", factor));
      }
    }
  }

  const gguf_tensor* find(const std::string& name) {
    const gguf_tensor* tensor = file_.find_tensor(name);
    if (tensor != nullptr) {
      used_.insert(tensor->name);
    }
    return tensor;
  }

  /// Empty where the file has none and it is `optional`.
  weight_matrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns,
                       bool optional = false) {
    const gguf_tensor* tensor = find(name);
    if (tensor == nullptr) {
      if (optional) {
        return {};
      }
      file_.fail_at_tensor(name, "is missing");
    }
    if (tensor->dims.size() > 2 || tensor->columns() != columns || tensor->rows() != rows) {
      file_.fail_at_tensor(
          name, fmt::format("is {}; expected {} x {}", tensor->dims_text(), columns, rows));
    }
    return {tensor->type, rows, columns, tensor->bytes};
  }

  std::span<const float> vector(const std::string& name, std::int64_t size, bool optional = false) {
    const gguf_tensor* tensor = find(name);
    if (tensor == nullptr) {
      if (optional) {
        return {};
      }
      file_.fail_at_tensor(name, "is missing");
    }
    if (tensor->dims.size() != 1 || tensor->columns() != size) {
      file_.fail_at_tensor(name, fmt::format("is {}; expected {}", tensor->dims_text(), size));
    }
    if (tensor->type != weight_type::f32) {
      file_.fail_at_tensor(
          name, fmt::format("is of type {}; expected F32", encoding_of(tensor->type).name));
    }
    // Offsets are multiples of 8 and the mapping starts at a page.
    return {reinterpret_cast<const float*>(tensor->bytes.data()), static_cast<std::size_t>(size)};
  }

  void read_tensors() {
    const llama_shape& shape = out_.shape;
    out_.token_embedding = matrix("token_embd.weight", shape.vocabulary, shape.hidden);
    out_.output = matrix("output.weight", shape.vocabulary, shape.hidden, true);
    if (out_.output.rows == 0) {
      out_.output = out_.token_embedding;
    }
    out_.output_norm = vector("output_norm.weight", shape.hidden);
    out_.rotary_divisors = vector("rope_freqs.weight", shape.rotary_size / 2, true);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      out_.layers.push_back(read_layer(i));
    }
  }

  llama_layer read_layer(std::int64_t number) {
    const llama_shape& shape = out_.shape;
    std::int64_t queries = shape.heads * shape.head_size;
    std::int64_t keys = shape.kv_heads * shape.head_size;
    auto name = [&](std::string_view rest) { return fmt::format("blk.{}.{}", number, rest); };
    llama_layer layer;
    layer.attention_norm = vector(name("attn_norm.weight"), shape.hidden);
    layer.query = matrix(name("attn_q.weight"), queries, shape.hidden);
    layer.key = matrix(name("attn_k.weight"), keys, shape.hidden);
    layer.value = matrix(name("attn_v.weight"), keys, shape.hidden);
    layer.output = matrix(name("attn_output.weight"), shape.hidden, queries);
    layer.query_bias = vector(name("attn_q.bias"), queries, true);
    layer.key_bias = vector(name("attn_k.bias"), keys, true);
    layer.value_bias = vector(name("attn_v.bias"), keys, true);
    layer.feed_forward_norm = vector(name("ffn_norm.weight"), shape.hidden);
    layer.gate = matrix(name("ffn_gate.weight"), shape.feed_forward, shape.hidden);
    layer.up = matrix(name("ffn_up.weight"), shape.feed_forward, shape.hidden);
    layer.down = matrix(name("ffn_down.weight"), shape.hidden, shape.feed_forward);
    return layer;
  }

  /// A tensor without a use belongs to a decoder that computes something else.
  void refuse_unused() const {
    for (const gguf_tensor& tensor : file_.tensors()) {
      if (!used_.contains(tensor.name)) {
        file_.fail_at_tensor(tensor.name, "has no place in a llama decoder as implemented here");
      }
    }
  }

  const gguf_file& file_;
  llama_weights out_;
  std::set<std::string_view> used_;
};

}  // namespace

llama_weights load_llama(const gguf_file& file) {
  return llama_reader{file}.read();
}

llama_weights load_llama(const std::string& path) {
  return load_llama(gguf_file{path});
}

void check_model_path(const std::string& path) {
  if (!path.ends_with(".gguf")) {
    throw input_error{"model", fmt::format("{} is no model with weights; expected \"{}\" or the "
                                           "path of a file that ends in .gguf",
                                           quoted_name(path), tiny_name)};
  }
}

llama_weights load_weights(const std::string& name_or_path) {
  if (name_or_path == tiny_name) {
    return tiny_llama(0);
  }
  check_model_path(name_or_path);
  return load_llama(name_or_path);
}

}  // namespace refrain
