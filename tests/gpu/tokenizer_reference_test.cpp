// Token ids equal to those of other programs: PyPI's `tokenizers` over SmolLM2's vocabulary
// (reference_tokens.json) and `sentencepiece` over a vocabulary of its own (reference_pieces.json).
// The scripts beside them say how these were made, broken UTF-8 included.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "gguf_writer.hpp"
#include "gpu/model_files/tokenizer.hpp"
#include "model_folder.hpp"
#include "support.hpp"

namespace refrain {
namespace {

nlohmann::json reference(const std::string& name) {
  std::ifstream in{REFRAIN_SOURCE_DIR "/tests/gpu/" + name};
  return nlohmann::json::parse(in);
}

const nlohmann::json& token_reference() {
  static const nlohmann::json json = reference("reference_tokens.json");
  return json;
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// SmolLM2's vocabulary with another splitter.
tokenizer smollm2_with(const std::string& splitter_name) {
  gguf_file model{fetched_model("smollm2-135m")};
  gguf_writer writer;
  for (const gguf_value& value : model.values()) {
    if (value.key.starts_with("tokenizer.ggml.") && value.type == gguf_type::array) {
      writer.array(value.key, static_cast<std::uint32_t>(value.element), value.count,
                   {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
    }
  }
  writer.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", splitter_name);
  temporary_file file{"model.gguf", writer.bytes()};
  return load_tokenizer(file.path());
}

class reference_splitter : public testing::TestWithParam<const char*> {};

TEST_P(reference_splitter, gives_every_text_the_ids_of_tokenizers) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  tokenizer words = smollm2_with(GetParam());
  int texts = 0;
  for (const nlohmann::json& row : token_reference().at("texts")) {
    std::string text = bytes_of_hex(row.at("hex"));
    EXPECT_EQ(words.encode(text), row.at(GetParam()).get<std::vector<token_id>>()) << row.at("hex");
    ++texts;
  }
  EXPECT_GE(texts, 200);
}

INSTANTIATE_TEST_SUITE_P(all, reference_splitter,
                         testing::Values("smollm", "gpt-2", "llama-bpe", "qwen2"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(smollm2_tokenizer, bytes_come_back_where_the_vocabulary_has_them) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  tokenizer words = load_tokenizer(fetched_model("smollm2-135m"));
  EXPECT_EQ(words.splitter_name(), "smollm");
  EXPECT_FALSE(words.words().find(byte_text(0xff)));
  int whole = 0;
  for (const nlohmann::json& row : token_reference().at("texts")) {
    std::string text = bytes_of_hex(row.at("hex"));
    std::string kept;  // what has a token
    for (char c : text) {
      if (words.words().find(byte_text(static_cast<std::uint8_t>(c)))) {
        kept += c;
      }
    }
    EXPECT_EQ(words.decode(words.encode(text)), kept);
    whole += kept == text ? 1 : 0;
  }
  EXPECT_GT(whole, 200);
}

TEST(smollm2_tokenizer, control_tokens_count_where_the_text_is_trusted) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  tokenizer words = load_tokenizer(fetched_model("smollm2-135m"));
  for (const nlohmann::json& row : token_reference().at("with_control")) {
    std::string text = row.at("text");
    std::vector<token_id> ids = words.encode(text, {.control_tokens = true});
    EXPECT_EQ(ids, row.at("ids").get<std::vector<token_id>>()) << text;
    EXPECT_EQ(words.decode(ids, true), text);
  }
  EXPECT_TRUE(words.ends_generation(2));
  EXPECT_TRUE(words.ends_generation(0));
  EXPECT_FALSE(words.ends_generation(1));
}

TEST(smollm2_tokenizer, conversations_are_those_that_jinja_renders_from_the_file) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  tokenizer words = load_tokenizer(fetched_model("smollm2-135m"));
  ASSERT_FALSE(token_reference().at("chats").empty());
  for (const nlohmann::json& row : token_reference().at("chats")) {
    std::vector<chat_message> messages;
    for (const nlohmann::json& message : row.at("messages")) {
      messages.push_back({message.at("role"), message.at("content")});
    }
    bool start = row.at("start_answer");
    EXPECT_EQ(words.chat().render(messages, start).text, row.at("text").get<std::string>());
    EXPECT_EQ(words.encode_chat(messages, start), row.at("ids").get<std::vector<token_id>>());
  }
}

TEST(sentence_pieces, give_every_text_the_ids_of_sentencepiece_and_give_it_back) {
  nlohmann::json json = reference("reference_pieces.json");
  gguf_writer writer;
  writer.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", json.at("tokens"))
      .f32s("tokenizer.ggml.scores", json.at("scores"))
      .i32s("tokenizer.ggml.token_type", json.at("kinds"))
      .u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.unknown_token_id", 0);
  temporary_file file{"model.gguf", writer.bytes()};
  tokenizer words = load_tokenizer(file.path());
  int texts = 0;
  for (const nlohmann::json& row : json.at("texts")) {
    std::string text = row.at("text");
    std::vector<token_id> ids = words.encode(text, {.ends = false});
    EXPECT_EQ(ids, row.at("ids").get<std::vector<token_id>>()) << text;
    EXPECT_EQ(words.decode(ids), text);
    ++texts;
  }
  EXPECT_GE(texts, 180);
  for (const nlohmann::json& row : token_reference().at("texts")) {
    std::string text = bytes_of_hex(row.at("hex"));  // broken ones, too
    EXPECT_EQ(words.decode(words.encode(text)), text);
  }
}

}  // namespace
}  // namespace refrain
