// The seeds of the fuzzers with a few bytes changed: each reader takes them or refuses them by
// input_error, and rows are conserved either way.
#include <iostream>
#include <random>

#include "public_traces.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

class mutated_trace : public temp_files, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    temp_files::SetUp();
    if (std::string_view{GetParam()} == "ragpulse") {
      table("1_sys_prompt", "sys_prompt_id", 10);
      table("2_passages", "passage_id", 0);
      table("3_history", "history_id", 20);
      table("4_user_input", "user_input_id", 40);
      table("5_web_search", "web_search_id", 30);
    }
  }

  void table(const std::string& file, const std::string& id, int first) const {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      text += "{\"" + id + "\": " + std::to_string(first + i) +
              ", \"token_length\": " + std::to_string(5 * (i + 1)) + "}\n";
    }
    write(text, file + ".jsonl");
  }

  static std::vector<std::string> seeds() {
    std::vector<std::string> texts;
    std::filesystem::path folder{REFRAIN_SOURCE_DIR "/tests/fuzz/corpus"};
    for (const auto& file : std::filesystem::directory_iterator{folder / GetParam()}) {
      std::ifstream in{file.path(), std::ios::binary};
      texts.emplace_back(std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{});
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  /// False where the text was refused.
  bool is_read(const std::string& text, bool drop) const {
    std::string path = write(text, "trace");
    std::unique_ptr<source> rows;
    try {
      rows = open_trace(GetParam(), {.path = path, .drop_bad_rows = drop});
      read_all(*rows);
      conserved_rows(rows->counts());
      return true;
    } catch (const input_error&) {
      if (rows) {
        conserved_rows(rows->counts());
      }
      return false;
    }
  }
};

TEST_P(mutated_trace, is_read_or_refused) {
  std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;  // seen even where a sanitizer stops the program
  random_stream random{seed, "mutations"};
  int read = 0, refused = 0;
  for (const std::string& valid : seeds()) {
    for (int i = 0; i < 200; ++i) {
      std::string text = valid;
      for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
        text[random.below(text.size())] = static_cast<char>(random.below(256));
      }
      ++(is_read(text, random.below(2) == 0) ? read : refused);
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(readers, mutated_trace,
                         testing::Values("agentic", "azure", "bailian", "burstgpt", "ragpulse",
                                         "weka"),
                         [](const auto& name) { return std::string{name.param}; });

}  // namespace
}  // namespace refrain
