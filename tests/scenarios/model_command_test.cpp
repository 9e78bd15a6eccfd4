// `refrain model`: what it prints for people and programs, and what it refuses.
#include <gmock/gmock.h>

#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using model_commands = program_test;

TEST_F(model_commands, describe_a_model_for_people_and_as_one_document) {
  finished_program done = run({"model", "builtin:tiny", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  EXPECT_EQ(about["parameters"], 620'160);
  EXPECT_EQ(about["shape"]["layers"], 3);
  EXPECT_EQ(about["kv_bytes_per_token"], 2 * 2 * 3 * 2 * 32);
  EXPECT_EQ(about["matrices"]["Q8_0"]["bytes"], 3 * 3 * 352 * 128 / 32 * 34);
  EXPECT_EQ(about["tokenizer"]["tokens"], 259);
  EXPECT_EQ(about["tokenizer"]["chat"], "chatml");
  done = run({"model", "builtin:tiny"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("620,160"), HasSubstr("chatml")));
}

TEST_F(model_commands, print_the_tokens_of_any_text) {
  finished_program done = run({"model", "builtin:tiny", "--tokens", "a\xff", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["ids"], (std::vector<int>{'a', 255}));
  done = run({"model", "builtin:tiny", "--tokens", "a\"\xff"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("97  \"a\"\n"), HasSubstr("34  \"\\x22\"\n"),
                              HasSubstr("255  \"\\xff\"\n"), HasSubstr("3 tokens of 3 bytes")));
}

TEST_F(model_commands, refuse_what_is_no_model_in_one_line) {
  write("broken.gguf", "GGUF");
  for (std::vector<std::string> words : {std::vector<std::string>{"model"},
                                         {"model", "llama-3-8b"},
                                         {"model", "nowhere.gguf"},
                                         {"model", "broken.gguf"},
                                         {"model", "broken.gguf", "--tokens", "a"},
                                         {"model", "builtin:tiny", "--token", "a", "b"}}) {
    finished_program done = run(words);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_EQ(done.error_lines(), 1) << done.err;
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(run({"model", "broken.gguf"}).err, HasSubstr("broken.gguf: the file ends within"));
}

}  // namespace
}  // namespace refrain
