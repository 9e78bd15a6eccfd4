// Scenarios that search a corpus: what their results say, and what they refuse.
#include <gmock/gmock.h>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

class searching_scenarios : public program_test {
 protected:
  searching_scenarios() {
    std::string rows = "{\"refrain_corpus\":1}\n";
    for (const char* word : {"wing", "slab", "jet"}) {
      std::string text;
      for (int i = 0; i < 50; ++i) {
        text += std::string{word} + " number " + std::to_string(i) + ". ";
      }
      rows += std::string{"{\"document\":\""} + word + "\",\"text\":\"" + text + "\"}\n";
    }
    rows += "{\"question\":1,\"text\":\"which wing?\"}\n{\"question\":2,\"text\":\"which jet?\"}\n";
    write("c.jsonl", rows);
    write("s.toml", scenario);
  }

  finished_program run_with(std::vector<std::string> sets) const {
    std::vector<std::string> words{"run", "s.toml", "-o", "r.h5", "--force", "--json"};
    for (const std::string& each : sets) {
      words.insert(words.end(), {"--set", each});
    }
    return run(words);
  }

  std::string refusal(const std::vector<std::string>& sets) const {
    finished_program done = run_with(sets);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_EQ(done.error_lines(), 1) << done.err;
    EXPECT_FALSE(exists("r.h5"));
    return done.err;
  }

  static double metric(const nlohmann::json& about, const char* name) {
    return about["contenders"][0]["metrics"][name]["value"];
  }

  static constexpr const char* scenario = R"(
seed = 1
[corpus]
path = "c.jsonl"
[workload]
format = "questions"
[workload.questions]
requests = 60
per_second = 4
[model]
name = "llama-3-8b"
[hardware]
gpu = "rtx-4090"
[retriever]
latency = "3ms"
span_tokens = 48
[[contender]]
name = "lru"
[[contender]]
name = "hnsw"
retriever.index = "hnsw"
)";
};

TEST_F(searching_scenarios, say_what_was_found_how_long_it_took_and_by_what_clock) {
  finished_program done = run_with({});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  EXPECT_EQ(metric(about, "retrieved_chunks"), 4 * 60);
  EXPECT_DOUBLE_EQ(metric(about, "retrieval_s"), 0.003);
  EXPECT_GT(metric(about, "hit_tokens"), 0);
  std::map<std::string, std::string> given;
  results_reader results{folder_ / "r.h5"};
  for (const auto& [key, value] : results.run().contenders[1].parameters) {
    given[key] = value;
  }
  EXPECT_EQ(given["retriever.timing"], "stated");
  EXPECT_EQ(given["retriever.hnsw_links"], "16");
  EXPECT_FALSE(given.contains("retriever.lsh_bits"));
  EXPECT_FALSE(results.run().trace_sha256.empty());
}

TEST_F(searching_scenarios, measure_where_no_time_is_stated_and_warn_of_it) {
  std::string text = scenario;
  text.erase(text.find("latency = \"3ms\"\n"), 16);
  write("s.toml", text);
  finished_program done = run_with({});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_GT(metric(done.json(), "retrieval_s"), 0);
  EXPECT_THAT(done.json()["warnings"].dump(), HasSubstr("searches are timed here"));
}

TEST_F(searching_scenarios, take_more_chunks_than_there_are_as_all_of_them) {
  finished_program done = run_with({"retriever.top=1000", "retriever.least_similarity=-2"});
  ASSERT_EQ(done.status, 0) << done.err;
  finished_program fewer = run_with({"retriever.top=100", "retriever.least_similarity=-2"});
  EXPECT_EQ(metric(done.json(), "retrieved_chunks"), metric(fewer.json(), "retrieved_chunks"));
  EXPECT_GT(metric(done.json(), "retrieved_chunks"), 60 * 4);
}

TEST_F(searching_scenarios, ask_questions_made_of_the_texts_where_told_to) {
  finished_program done = run_with({"workload.questions.made=5"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_GT(metric(done.json(), "retrieved_tokens"), 0);
}

TEST_F(searching_scenarios, refuse_what_cannot_be_searched) {
  EXPECT_THAT(refusal({"corpus.format=sqaud"}), HasSubstr("did you mean \"squad\"?"));
  EXPECT_THAT(refusal({"corpus.path=none"}), HasSubstr("none: cannot be opened"));
  EXPECT_THAT(refusal({"workload.path=x"}), HasSubstr("means nothing with workload.format"));
  EXPECT_THAT(refusal({"retriever.index=flat"}), HasSubstr("retriever.index"));
  EXPECT_THAT(refusal({"retriever.span_tokens=0"}), HasSubstr("retriever.span_tokens"));
  write("e.jsonl", "{\"text\":\"which wing?\",\"embedding\":[1,2]}\n");
  EXPECT_THAT(refusal({"retriever.embeddings=e.jsonl"}), HasSubstr("has no embedding of \"wing"));
  write("e.jsonl", "{\"text\":\"a\",\"embedding\":[1,2]}\n{\"text\":\"b\",\"embedding\":[1]}\n");
  EXPECT_THAT(refusal({"retriever.embeddings=e.jsonl"}), HasSubstr("e.jsonl:2: an embedding of"));
  write("c.jsonl", "{\"refrain_corpus\":1}\n{\"document\":1,\"text\":\"wing\"}\n");
  EXPECT_THAT(refusal({}), HasSubstr("has no questions; workload.questions.made makes some"));
  write("c.jsonl", "{\"refrain_corpus\":1}\n");
  EXPECT_THAT(refusal({"workload.questions.made=3"}), HasSubstr("no document has a word"));
}

TEST_F(searching_scenarios, refuse_search_settings_without_a_corpus) {
  finished_program done =
      run({"run", source("scenarios/quickstart.toml"), "--set", "retriever.top=3"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("retriever.top: means nothing without a corpus"));
  done = run({"run", source("scenarios/quickstart.toml"), "--set", "corpus.path=c.jsonl"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("corpus.path: means nothing with workload.format"));
}

}  // namespace
}  // namespace refrain
