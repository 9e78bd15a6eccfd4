// Decoders from files: what is written comes back, what a file leaves out has its default, and what
// does not fit is refused with the key or tensor named.
#include "gpu/model_files/llama_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf_writer.hpp"
#include "model_folder.hpp"
#include "support.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const llama_weights& tiny() {
  static const llama_weights weights = tiny_llama(0);
  return weights;
}

gguf_writer good_file() {
  return file_of(tiny());
}

llama_weights loaded(const gguf_writer& writer) {
  temporary_file file{"model.gguf", writer.bytes()};
  return load_llama(file.path());
}

std::string error_of(const gguf_writer& writer) {
  return input_error_of([&] { loaded(writer); });
}

TEST(llama_file, weights_that_are_written_come_back_with_their_fingerprint) {
  llama_weights weights = loaded(good_file().text("general.name", "made up"));
  EXPECT_EQ(weights.name, "made up");
  EXPECT_EQ(weights.fingerprint, tiny().fingerprint);
  EXPECT_EQ(weights.layers.size(), 3u);
  EXPECT_EQ(weights.layers[1].down.columns, 352);
  EXPECT_EQ(weights.layers[1].down.rows, 128);
  EXPECT_EQ(weights.layers[1].down.type, weight_type::q8_0);
  EXPECT_EQ(parameters_of(weights), parameters_of(tiny()));
}

TEST(llama_file, keys_that_may_be_absent_have_their_defaults) {
  gguf_writer file = good_file().remove("llama.attention.head_count_kv");
  for (int i = 0; i < 3; ++i) {
    for (std::string name : {"attn_k", "attn_v"}) {
      gguf_writer::tensor_entry& keys =
          file.at("blk." + std::to_string(i) + "." + name + ".weight");
      keys.dims[1] = 128;
      keys.bytes += keys.bytes;
    }
  }
  llama_shape shape = loaded(file).shape;
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.head_size, 32);
  EXPECT_EQ(shape.rotary_size, 32);
  EXPECT_EQ(shape.rotary_base, 10000);
  EXPECT_EQ(shape.vocabulary, tiny_vocabulary);
  EXPECT_TRUE(shape.adjacent_pairs);
}

TEST(llama_file, keys_that_are_there_count) {
  llama_weights weights = loaded(good_file()
                                     .u32("llama.attention.key_length", 32)
                                     .u32("llama.attention.value_length", 32)
                                     .u32("llama.rope.dimension_count", 16)
                                     .f32("llama.rope.freq_base", 500000)
                                     .u32("llama.vocab_size", 259)
                                     .text("llama.rope.scaling.type", "none")
                                     .vector("rope_freqs.weight", std::vector<float>(8, 2.0F)));
  EXPECT_EQ(weights.shape.rotary_size, 16);
  EXPECT_EQ(weights.shape.rotary_base, 500000);
  ASSERT_EQ(weights.rotary_divisors.size(), 8u);
  EXPECT_EQ(weights.rotary_divisors[7], 2.0F);
  EXPECT_NE(weights.fingerprint, tiny().fingerprint);
}

TEST(llama_file, without_an_output_matrix_the_embedding_serves_again) {
  llama_weights weights = loaded(good_file().remove_tensor("output.weight"));
  EXPECT_EQ(weights.output.bytes.data(), weights.token_embedding.bytes.data());
  EXPECT_EQ(parameters_of(weights), parameters_of(tiny()) - 259 * 128);
}

TEST(llama_file, biases_of_query_key_and_value_are_read) {
  llama_weights weights =
      loaded(good_file().vector("blk.2.attn_k.bias", std::vector<float>(64, 0.5F)));
  EXPECT_EQ(weights.layers[2].key_bias.size(), 64u);
  EXPECT_TRUE(weights.layers[2].query_bias.empty());
  EXPECT_TRUE(weights.layers[1].key_bias.empty());
}

TEST(llama_file, a_missing_key_or_one_out_of_range_is_named) {
  for (std::string key : {"llama.block_count", "llama.embedding_length", "llama.context_length",
                          "llama.feed_forward_length", "llama.attention.head_count"}) {
    EXPECT_THAT(error_of(good_file().remove(key)),
                HasSubstr("model.gguf: key \"" + key + "\": is missing"));
    EXPECT_THAT(error_of(good_file().u32(key, 4'000'000'000)),
                HasSubstr("key \"" + key + "\": is 4000000000; expected 1 to"));
    EXPECT_THAT(error_of(good_file().text(key, "3")), HasSubstr("key \"" + key + "\""));
  }
  std::string epsilon = "llama.attention.layer_norm_rms_epsilon";
  EXPECT_THAT(error_of(good_file().remove(epsilon)), HasSubstr(epsilon + "\": is missing"));
  EXPECT_THAT(error_of(good_file().f32(epsilon, -1)), HasSubstr(epsilon));
  EXPECT_THAT(error_of(good_file().u32("llama.attention.head_count_kv", 3)),
              HasSubstr("4 heads cannot be shared out over 3"));
  EXPECT_THAT(error_of(good_file().u32("llama.attention.head_count", 6)), HasSubstr("6 heads"));
  EXPECT_THAT(error_of(good_file().u32("llama.rope.dimension_count", 34)), HasSubstr("is 34"));
  EXPECT_THAT(error_of(good_file().f32("llama.rope.freq_base", 0)), HasSubstr("freq_base"));
}

TEST(llama_file, what_is_not_implemented_is_refused) {
  EXPECT_THAT(
      error_of(good_file().text("general.architecture", "qwen2")),
      HasSubstr("key \"general.architecture\": is \"qwen2\"; models of \"llama\" are read"));
  EXPECT_THAT(error_of(good_file().remove("general.architecture")), HasSubstr("is missing"));
  EXPECT_THAT(error_of(good_file().text("llama.rope.scaling.type", "yarn")),
              HasSubstr("key \"llama.rope.scaling.type\": is \"yarn\""));
  EXPECT_THAT(error_of(good_file().text("llama.rope.scaling.type", "linear")), HasSubstr("linear"));
  EXPECT_THAT(error_of(good_file().f32("llama.rope.scale_linear", 4)), HasSubstr("scale_linear"));
  EXPECT_THAT(error_of(good_file().u32("llama.expert_count", 8)), HasSubstr("experts"));
  EXPECT_THAT(error_of(good_file().u32("llama.attention.value_length", 16)),
              HasSubstr("llama.attention.value_length"));
  EXPECT_THAT(error_of(good_file().raw("split.count", 2, bytes_of(std::uint16_t{3}))),
              HasSubstr("one part of a model"));
  EXPECT_THAT(error_of(good_file().vector("blk.0.attn_output.bias", std::vector<float>(128))),
              HasSubstr("tensor \"blk.0.attn_output.bias\": has no place"));
  EXPECT_THAT(error_of(good_file().vector("blk.3.attn_norm.weight", std::vector<float>(128))),
              HasSubstr("tensor \"blk.3.attn_norm.weight\""));
}

TEST(llama_file, a_tensor_that_is_missing_or_of_other_dims_is_named) {
  EXPECT_THAT(error_of(good_file().remove_tensor("token_embd.weight")),
              HasSubstr("tensor \"token_embd.weight\": is missing"));
  auto whole_file = [] { return good_file().u32("llama.vocab_size", 259); };
  for (const gguf_writer::tensor_entry& each : whole_file().tensors) {
    if (each.name != "output.weight") {
      EXPECT_THAT(error_of(whole_file().remove_tensor(each.name)),
                  HasSubstr("\"" + each.name + "\": is missing"));
    }
    gguf_writer other = whole_file();
    other.at(each.name).dims.back() -= 32;
    EXPECT_THAT(error_of(other), HasSubstr("tensor \"" + each.name + "\": is ")) << each.name;
  }
  gguf_writer turned = whole_file();
  std::swap(turned.at("blk.1.ffn_down.weight").dims[0], turned.at("blk.1.ffn_down.weight").dims[1]);
  EXPECT_THAT(error_of(turned),
              HasSubstr("tensor \"blk.1.ffn_down.weight\": is 128 x 352; expected 352 x 128"));
  gguf_writer halves = whole_file();
  halves.at("blk.0.ffn_norm.weight").type = 1;
  EXPECT_THAT(error_of(halves),
              HasSubstr("tensor \"blk.0.ffn_norm.weight\": is of type F16; expected F32"));
}

TEST(llama_file, the_fingerprint_tells_weights_and_shapes_apart) {
  gguf_writer changed = good_file();
  changed.at("blk.2.ffn_up.weight").bytes[1000] ^= 1;
  EXPECT_NE(loaded(changed).fingerprint, tiny().fingerprint);
  EXPECT_NE(loaded(good_file().f32("llama.rope.freq_base", 10001)).fingerprint, tiny().fingerprint);
  EXPECT_NE(loaded(good_file().f32("llama.attention.layer_norm_rms_epsilon", 1e-6F)).fingerprint,
            tiny().fingerprint);
  EXPECT_EQ(loaded(good_file().text("general.name", "other")).fingerprint, tiny().fingerprint);
}

TEST(tiny_llama, is_equal_for_equal_seeds_and_on_every_machine) {
  EXPECT_EQ(tiny_llama(0).fingerprint, load_weights("builtin:tiny").fingerprint);
  EXPECT_NE(tiny_llama(0).fingerprint, tiny_llama(1).fingerprint);
  std::array<std::uint64_t, 2> recorded{0x608fc4b9e15349ba, 0x045d1f433bcaace3};
  EXPECT_EQ(tiny_llama(0).fingerprint, recorded);
}

TEST(tiny_llama, its_weights_keep_the_size_of_activations) {
  const weight_matrix& up = tiny().layers[0].up;
  double squares = 0;
  std::vector<float> row(static_cast<std::size_t>(up.columns));
  for (std::int64_t i = 0; i < up.rows; ++i) {
    dequantise(up.type, row_of(up, i), row);
    for (float value : row) {
      squares += double{value} * value;
    }
  }
  EXPECT_NEAR(squares / static_cast<double>(up.rows), 128.0 / 195, 0.02);
}

TEST(load_weights, a_name_that_is_no_model_says_what_is_one) {
  for (std::string name : {"builtin:large", "smollm2-135m", ""}) {
    EXPECT_THAT(
        input_error_of([&] { load_weights(name); }),
        AllOf(HasSubstr("\"" + name + "\""), HasSubstr("builtin:tiny"), HasSubstr(".gguf")));
  }
  EXPECT_THAT(input_error_of([] { load_weights("nowhere.gguf"); }),
              HasSubstr("nowhere.gguf: cannot be opened"));
}

TEST(load_weights, smollm2_has_its_published_shape) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  llama_weights weights = load_weights(fetched_model("smollm2-135m"));
  EXPECT_EQ(weights.shape.layers, 30);
  EXPECT_EQ(weights.shape.hidden, 576);
  EXPECT_EQ(weights.shape.heads, 9);
  EXPECT_EQ(weights.shape.kv_heads, 3);
  EXPECT_EQ(weights.shape.feed_forward, 1536);
  EXPECT_EQ(weights.shape.vocabulary, 49152);
  EXPECT_EQ(weights.shape.rotary_base, 100000);
  EXPECT_EQ(weights.token_embedding.type, weight_type::q8_0);
  EXPECT_EQ(weights.layers[29].down.type, weight_type::q4_1);
  EXPECT_EQ(parameters_of(weights), 134'515'008);
}

}  // namespace
}  // namespace refrain
