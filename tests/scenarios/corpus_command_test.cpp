// `refrain corpus`: what it prints for people and programs, and what it refuses.
#include <gmock/gmock.h>

#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

class corpus_commands : public program_test {
 protected:
  corpus_commands() {
    write("c.jsonl",
          "{\"refrain_corpus\":1}\n"
          "{\"document\":\"wing\",\"text\":\"lift of wings in a slipstream\"}\n"
          "{\"document\":\"slab\",\"text\":\"heat conduction in composite slabs\"}\n"
          "{\"question\":\"1\",\"text\":\"conduction of heat\",\"relevant\":[[\"slab\",2]]}\n"
          "{\"question\":\"2\",\"text\":\"wings\",\"relevant\":[[\"wing\",1]]}\n"
          "{\"question\":\"3\",\"text\":\"??\"}\n");
  }

  std::string refusal(std::vector<std::string> words) const {
    words.insert(words.begin(), "corpus");
    finished_program done = run(words);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_EQ(done.error_lines(), 1) << done.err;
    EXPECT_EQ(done.out, "");
    return done.err;
  }
};

TEST_F(corpus_commands, check_prints_quality_and_times_of_all_indexes) {
  finished_program done = run({"corpus", "check", "corpus:c.jsonl", "--top", "1,50", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  EXPECT_EQ(about["documents"], 2);
  EXPECT_EQ(about["judged_questions"], 2);
  EXPECT_EQ(about["questions_without_hit"], 1);
  ASSERT_EQ(about["indexes"].size(), 3u);
  for (const nlohmann::json& index : about["indexes"]) {
    EXPECT_GT(index["search_seconds"]["p50"], 0);
    ASSERT_EQ(index["quality"].size(), 2u);
    EXPECT_EQ(index["quality"][0]["k"], 1);
  }
  EXPECT_EQ(about["indexes"][0]["quality"][0]["recall"], 1);
  EXPECT_EQ(about["indexes"][0]["quality"][1]["ndcg"], 1);
  EXPECT_EQ(about["indexes"][2]["quality"][1]["recall_of_exact"], 1);
  done = run({"corpus", "check", "corpus:c.jsonl"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("hnsw"));
}

TEST_F(corpus_commands, search_finds_chunks_and_says_where_nothing_fits) {
  finished_program done = run({"corpus", "search", "corpus:c.jsonl", "slabs", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["found"][0]["document"], "slab");
  done = run({"corpus", "search", "corpus:c.jsonl", "?"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, HasSubstr("nothing has a term"));
}

TEST_F(corpus_commands, chunks_can_be_embedded_by_others_and_read_back) {
  finished_program done = run({"corpus", "chunks", "corpus:c.jsonl"});
  ASSERT_EQ(done.status, 0) << done.err;
  std::string rows;
  std::istringstream lines{done.out};
  int place = 0;
  for (std::string line; std::getline(lines, line); ++place) {
    nlohmann::json chunk = nlohmann::json::parse(line);
    rows += "{\"fingerprint\":" + chunk["fingerprint"].dump() + ",\"embedding\":[" +
            (place == 0 ? "1,0" : "0,1") + "]}\n";
  }
  EXPECT_EQ(place, 2);
  for (const char* question : {"conduction of heat", "wings", "??"}) {
    rows += std::string{"{\"text\":\""} + question + "\",\"embedding\":[0.1,1]}\n";
  }
  write("e.jsonl", rows);
  done = run({"corpus", "check", "corpus:c.jsonl", "--embeddings", "e.jsonl", "--index", "exact",
              "--top", "1", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["width"], 2);
  EXPECT_EQ(done.json()["indexes"][0]["quality"][0]["recall"], 0.5);
}

TEST_F(corpus_commands, build_writes_a_file_once) {
  finished_program done = run({"corpus", "build", "corpus:c.jsonl", "-o", "again.jsonl", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["documents"], 2);
  EXPECT_THAT(refusal({"build", "corpus:c.jsonl", "-o", "again.jsonl"}), HasSubstr("exists"));
  EXPECT_EQ(run({"corpus", "check", "corpus:again.jsonl"}).status, 0);
}

TEST_F(corpus_commands, an_empty_corpus_is_checked_like_any_other) {
  write("none.jsonl", "{\"refrain_corpus\":1}\n");
  finished_program done = run({"corpus", "check", "corpus:none.jsonl", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["chunks"], 0);
  EXPECT_TRUE(done.json()["indexes"][0]["quality"][0]["recall"].is_null());
  EXPECT_EQ(run({"corpus", "check", "corpus:none.jsonl"}).status, 0);
  done = run({"corpus", "search", "corpus:none.jsonl", "heat", "--json"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(done.json()["found"].empty());
}

TEST_F(corpus_commands, what_is_wrong_is_named_with_the_nearest_right_word) {
  EXPECT_THAT(refusal({"biuld", "corpus:c.jsonl"}), HasSubstr("did you mean \"build\"?"));
  EXPECT_THAT(refusal({"check", "corpse:c.jsonl"}), HasSubstr("did you mean \"corpus\"?"));
  EXPECT_THAT(refusal({"check", "c.jsonl"}), HasSubstr("expected FORMAT:PATH"));
  EXPECT_THAT(refusal({"check", "corpus:none"}), HasSubstr("none: cannot be opened"));
  EXPECT_THAT(refusal({"check", "corpus:c.jsonl", "--index", "hsnw"}),
              HasSubstr("--index: unknown value \"hsnw\"; did you mean \"hnsw\"?"));
  EXPECT_THAT(refusal({"check", "corpus:c.jsonl", "--chunking", "headings"}),
              HasSubstr("did you mean \"heading\"?"));
  EXPECT_THAT(refusal({"check", "corpus:c.jsonl", "--top", "0"}), HasSubstr("--top: expected"));
  EXPECT_THAT(refusal({"check", "corpus:c.jsonl", "--bits", "31"}), HasSubstr("at most 30"));
  EXPECT_THAT(refusal({"check", "corpus:c.jsonl", "--span", "0"}), HasSubstr("--span"));
  EXPECT_THAT(refusal({"build", "corpus:c.jsonl"}), HasSubstr("--output is missing"));
  EXPECT_THAT(refusal({"search", "corpus:c.jsonl"}), HasSubstr("QUESTION is missing"));
  EXPECT_THAT(refusal({"search", "corpus:c.jsonl", "\xFF"}), HasSubstr("is no UTF-8"));
  EXPECT_THAT(refusal({"search", "corpus:c.jsonl", "why", "--top", "3,4"}),
              HasSubstr("one value each"));
  EXPECT_THAT(refusal({"chunks", "corpus:c.jsonl", "more"}), HasSubstr("one word too many: more"));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_THAT(refusal({"check", "folder:empty"}), HasSubstr("empty: holds no .md or .txt file"));
}

}  // namespace
}  // namespace refrain
