// Conversations against what Jinja renders from templates of the known forms
// (reference_tokens.json, "forms"), and what is refused.
#include "gpu/model_files/chat_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(chat_template, renders_what_jinja_renders) {
  std::ifstream in{REFRAIN_SOURCE_DIR "/tests/gpu/reference_tokens.json"};
  nlohmann::json json = nlohmann::json::parse(in);
  int rendered = 0;
  for (const nlohmann::json& row : json.at("forms")) {
    std::vector<chat_message> messages;
    for (const nlohmann::json& message : row.at("messages")) {
      messages.push_back({message.at("role"), message.at("content")});
    }
    chat_template form{"m.gguf", row.at("template").get<std::string>(), "<s>", "</s>"};
    EXPECT_THAT(row.at("form").get<std::string>(), testing::StartsWith(std::string{form.form()}));
    EXPECT_EQ(form.render(messages, row.at("start_answer")).text, row.at("text").get<std::string>())
        << row.at("form");
    ++rendered;
  }
  EXPECT_EQ(rendered, 36);
}

TEST(chat_template, tells_marks_from_contents) {
  chat_template form{"m.gguf", "'<|im_start|>' + '<|im_end|>'", "", ""};
  chat_text out =
      form.render(std::vector<chat_message>{{"user", "hi"}, {"assistant", "yes"}}, true);
  ASSERT_EQ(out.contents.size(), 2u);
  auto content = [&](std::size_t i) {
    auto [begin, end] = out.contents[i];
    return out.text.substr(begin, end - begin);
  };
  EXPECT_EQ(content(0), "hi");
  EXPECT_EQ(content(1), "yes");
}

std::string template_error(std::string_view jinja) {
  return input_error_of([&] { chat_template{"m.gguf", jinja, "", ""}; });
}

TEST(chat_template, forms_that_are_not_known_are_refused_with_those_that_are) {
  EXPECT_THAT(template_error("{{ messages }}"),
              AllOf(HasSubstr("m.gguf: key \"tokenizer.chat_template\""), HasSubstr("ChatML")));
  EXPECT_THAT(template_error("[INST] eos_token"), HasSubstr("is of no known form"));
  EXPECT_THAT(template_error("<|start_header_id|> <|eot_id|> date_string"),
              HasSubstr("templates with date_string"));
  EXPECT_THAT(template_error("<|start_header_id|> <|eot_id|> 'Cutting Knowledge Date: May\\n' "
                             "{% set date_string = strftime_now('%d') %}"),
              HasSubstr("its date cannot be read"));
  EXPECT_THAT(template_error("'<|im_start|>system\nIt\\'s<|im_end|>'"),
              HasSubstr("its system message cannot be read"));
}

TEST(chat_template, conversations_that_have_no_place_in_it_are_refused) {
  chat_template chatml{"m.gguf", "'<|im_start|>' + '<|im_end|>'", "", ""};
  chat_template llama_2{"m.gguf", "[INST] <<SYS>> eos_token", "", "</s>"};
  auto refusal = [](const chat_template& form, std::vector<chat_message> messages) {
    return input_error_of([&] { form.render(messages, true); });
  };
  EXPECT_THAT(refusal(chatml, {}), HasSubstr("needs a message"));
  EXPECT_THAT(refusal(chatml, {{"user", ""}, {"tool", ""}}),
              HasSubstr("message 2 has the role \"tool\"; expected system, user or assistant"));
  EXPECT_THAT(refusal(chatml, {{"user", ""}, {"system", ""}}),
              HasSubstr("message 2 is of the system"));
  EXPECT_THAT(refusal(llama_2, {{"user", ""}, {"user", ""}}),
              HasSubstr("message 2 is out of turn"));
}

}  // namespace
}  // namespace refrain
