// Model shapes against the published table of KV bytes per token, and bad model files.
#include "gpu/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string tiny_model =
    "layers = 2\nhidden = 8\nheads = 4\nkv_heads = 2\nhead_size = 2\nfeed_forward = 16\n"
    "vocabulary = 32\ntied_embeddings = false\nparameters = 1000\nsource = \"a test\"\n";

std::string error_of(std::string text, const std::string& old_text, const std::string& new_text) {
  text.replace(text.find(old_text), old_text.size(), new_text);
  temporary_file file{"tiny-model.toml", text};
  return input_error_of([&] { load_model(file.path()); });
}

struct table_row {
  const char* name;
  std::int64_t kv_bytes;
};

constexpr table_row kv_table[] = {
    {"smollm2-135m", 23'040}, {"smollm2-360m", 40'960}, {"smollm2-1.7b", 196'608},
    {"gemma-2-2b", 106'496},  {"phi-3-mini", 393'216},  {"llama-2-7b", 524'288},
    {"mistral-7b", 131'072},  {"qwen2.5-7b", 57'344},   {"llama-3-8b", 131'072},
    {"gemma-2-9b", 344'064},  {"llama-2-13b", 819'200}, {"phi-3-medium", 204'800},
    {"gemma-2-27b", 376'832}, {"qwen2.5-32b", 262'144}, {"qwen3-32b", 262'144},
    {"llama-2-70b", 327'680}, {"llama-3-70b", 327'680}, {"qwen2.5-72b", 327'680},
};

TEST(model, kv_bytes_per_token_are_those_of_the_table) {
  for (const table_row& row : kv_table) {
    EXPECT_EQ(load_model(row.name).kv_bytes_per_token(1), row.kv_bytes) << row.name;
  }
  EXPECT_EQ(model_names().size(), std::size(kv_table));
}

// A count from the dimensions, without norms and biases, finds a wrong digit in either.
TEST(model, parameters_agree_with_the_dimensions) {
  for (const std::string& name : model_names()) {
    model_shape model = load_model(name);
    std::int64_t attention = 2 * (model.heads + model.kv_heads) * model.head_size * model.hidden;
    std::int64_t layer = attention + 3 * model.hidden * model.feed_forward;
    std::int64_t embeddings = (model.tied_embeddings ? 1 : 2) * model.vocabulary * model.hidden;
    auto counted = static_cast<double>(model.layers * layer + embeddings);
    EXPECT_NEAR(counted / static_cast<double>(model.parameters), 1.0, 0.004) << name;
  }
}

TEST(model, reads_every_field) {
  model_shape model = load_model("llama-3-8b");
  EXPECT_EQ(model.name, "llama-3-8b");
  EXPECT_EQ(model.layers, 32);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.heads, 32);
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_EQ(model.head_size, 128);
  EXPECT_EQ(model.feed_forward, 14336);
  EXPECT_EQ(model.vocabulary, 128256);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_EQ(model.parameters, 8'030'000'000);
  EXPECT_TRUE(load_model("gemma-2-2b").tied_embeddings);
}

TEST(model, ranks_share_key_value_heads_until_each_has_one) {
  model_shape model = load_model("llama-3-70b");
  EXPECT_EQ(model.kv_bytes_per_token(4), 327'680 / 4);
  EXPECT_EQ(model.kv_bytes_per_token(8), 327'680 / 8);
  EXPECT_EQ(model.kv_bytes_per_token(16), 327'680 / 8);
}

TEST(model, refuses_a_degree_that_splits_heads_unevenly) {
  EXPECT_EQ(input_error_of([] { load_model("qwen2.5-7b").check_tensor_parallel(8); }),
            "hardware.tensor_parallel: 8 GPUs cannot share the 28 heads and 4 key-value heads of "
            "qwen2.5-7b evenly");
  EXPECT_THAT(input_error_of([] { load_model("phi-3-medium").check_tensor_parallel(4); }),
              HasSubstr("10 key-value heads"));
  EXPECT_THAT(input_error_of([] { load_model("phi-3-medium").check_tensor_parallel(0); }),
              HasSubstr("expected at least 1"));
  EXPECT_EQ(input_error_of([] { load_model("phi-3-medium").check_tensor_parallel(2); }), "");
}

TEST(model, names_the_nearest_model_for_an_unknown_one) {
  EXPECT_EQ(input_error_of([] { load_model("llama-3-9b"); }),
            "model.name: unknown model \"llama-3-9b\"; did you mean \"llama-3-8b\"?");
}

TEST(model, reads_a_file_by_its_path_and_names_it_by_its_stem) {
  temporary_file file{"tiny-model.toml", tiny_model};
  model_shape model = load_model(file.path());
  EXPECT_EQ(model.name, "tiny-model");
  EXPECT_EQ(model.kv_bytes_per_token(1), 2 * 2 * 2 * 2 * 2);
  EXPECT_THAT(input_error_of([] { load_model("no-such-file.toml"); }),
              HasSubstr("no-such-file.toml: cannot be read"));
}

TEST(model, refuses_a_bad_file_naming_file_line_and_key) {
  EXPECT_THAT(error_of(tiny_model, "heads = 4", "heds = 4"),
              AllOf(HasSubstr("tiny-model.toml:3"), HasSubstr("unknown key \"heds\""),
                    HasSubstr("did you mean \"heads\"?")));
  EXPECT_THAT(error_of(tiny_model, "hidden = 8\n", ""), HasSubstr("tiny-model.toml: hidden: miss"));
  EXPECT_THAT(error_of(tiny_model, "layers = 2", "layers = 0"),
              HasSubstr("tiny-model.toml:1: layers: expected an integer of at least 1"));
  EXPECT_THAT(error_of(tiny_model, "layers = 2", "layers = 2.0"), HasSubstr("layers: expected"));
  EXPECT_THAT(error_of(tiny_model, "embeddings = false", "embeddings = 0"),
              HasSubstr("tiny-model.toml:8: tied_embeddings: expected true or false"));
  EXPECT_THAT(error_of(tiny_model, "\"a test\"", "\"\""), HasSubstr("source: expected a string"));
  EXPECT_THAT(error_of(tiny_model, "kv_heads = 2", "kv_heads = 3"),
              HasSubstr("tiny-model.toml:4: kv_heads: expected a divisor of heads = 4"));
  EXPECT_THAT(error_of(tiny_model, "hidden = 8", "hidden = = 8"), HasSubstr("tiny-model.toml:2: "));
}

}  // namespace
}  // namespace refrain
