// Reads model shapes from gpu/models, which are compiled in, or from a file of the same form.
#include "gpu/model.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "gpu/model_files/llama_file.hpp"
#include "gpu/settings_file.hpp"
#include "traces/embedded.hpp"
#include "traces/error.hpp"

namespace refrain {

std::span<const embedded_file> embedded_models();

namespace {

constexpr std::string_view known_keys[] = {
    "layers",       "hidden",     "heads",           "kv_heads",   "head_size",
    "feed_forward", "vocabulary", "tied_embeddings", "parameters", "source"};

}  // namespace

std::int64_t model_shape::kv_heads_per_rank(std::int64_t tensor_parallel) const {
  return (kv_heads + tensor_parallel - 1) / tensor_parallel;
}

std::int64_t model_shape::kv_bytes_per_token(std::int64_t tensor_parallel) const {
  return 2 * layers * kv_heads_per_rank(tensor_parallel) * head_size * bytes_per_element;
}

void model_shape::check_tensor_parallel(std::int64_t tensor_parallel) const {
  if (tensor_parallel < 1) {
    throw input_error{"hardware.tensor_parallel",
                      fmt::format("{}: expected at least 1", tensor_parallel)};
  }
  bool kv_even = kv_heads % tensor_parallel == 0 || tensor_parallel % kv_heads == 0;
  if (heads % tensor_parallel != 0 || !kv_even) {
    throw input_error{
        "hardware.tensor_parallel",
        fmt::format("{} GPUs cannot share the {} heads and {} key-value heads of {} evenly",
                    tensor_parallel, heads, kv_heads, name)};
  }
}

model_shape load_model(const std::string& name) {
  settings_file file = find_settings("model", "model.name", "gpu/models", name, embedded_models());
  file.allow_only(known_keys);
  model_shape model{.name = settings_name(name),
                    .layers = file.count("layers"),
                    .hidden = file.count("hidden"),
                    .heads = file.count("heads"),
                    .kv_heads = file.count("kv_heads"),
                    .head_size = file.count("head_size"),
                    .feed_forward = file.count("feed_forward"),
                    .vocabulary = file.count("vocabulary"),
                    .tied_embeddings = file.flag("tied_embeddings"),
                    .parameters = file.count("parameters"),
                    .source = file.text("source")};
  if (model.heads % model.kv_heads != 0) {
    file.fail("kv_heads", fmt::format("expected a divisor of heads = {}", model.heads));
  }
  return model;
}

std::vector<std::string> model_names() {
  return sorted_names(embedded_models());
}

model_shape shape_of(const llama_weights& weights) {
  const llama_shape& of = weights.shape;
  return {.name = weights.name,
          .layers = of.layers,
          .hidden = of.hidden,
          .heads = of.heads,
          .kv_heads = of.kv_heads,
          .head_size = of.head_size,
          .feed_forward = of.feed_forward,
          .vocabulary = of.vocabulary,
          .tied_embeddings = weights.output.bytes.data() == weights.token_embedding.bytes.data(),
          .parameters = parameters_of(weights),
          .source = "its model file"};
}

}  // namespace refrain
