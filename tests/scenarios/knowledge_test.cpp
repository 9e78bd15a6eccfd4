// Scenarios whose corpus changes: what their results say, and what they refuse.
#include <gmock/gmock.h>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

class changing_scenarios : public program_test {
 protected:
  changing_scenarios() {
    std::string rows;
    for (int time = 0; time < 40; ++time) {
      for (const char* word : {"wing", "slab", "jet"}) {
        if (time > 0 && time % 3 != word[0] % 3) {
          continue;
        }
        std::string text;
        for (int part = 0; part < 5; ++part) {
          text += std::string{"# "} + word + " " + std::to_string(part) + "\\n";
          for (int i = 0; i < 25; ++i) {
            text += std::string{word} + " number " + std::to_string(i) + ". ";
          }
          text += std::to_string(part == 1 ? time : 0) + "\\n";
        }
        rows += std::string{"{\"time\":"} + std::to_string(1000 + 60 * time) + ",\"op\":\"" +
                (time == 0 ? "A" : "M") + "\",\"path\":\"" + word + "\",\"text\":\"" + text +
                "\"}\n";
      }
    }
    write("r.jsonl", rows);
    write("s.toml", scenario);
  }

  finished_program run_with(const std::vector<std::string>& sets) const {
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

  static constexpr const char* scenario = R"(
seed = 1
[corpus]
format = "revisions"
path = "r.jsonl"
[knowledge]
skip = 3
speed = 240
[workload]
format = "questions"
[workload.questions]
made = 20
requests = 100
per_second = 5
[model]
name = "llama-3-8b"
[hardware]
gpu = "rtx-4090"
[policies]
reuse = "chunk"
[retriever]
latency = "3ms"
chunking = "heading"
span_tokens = 128
[[contender]]
name = "prefix"
knowledge.invalidation = "prefix"
[[contender]]
name = "chunk"
[[contender]]
name = "loose"
knowledge.protocol = "loose"
knowledge.delay = "5s"
)";
};

TEST_F(changing_scenarios, say_what_survives_and_who_was_stale) {
  finished_program done = run_with({});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  auto metric = [&](std::size_t contender, const char* name) {
    return about["contenders"][contender]["metrics"][name];
  };
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(metric(i, "updates")["value"], 39);
    EXPECT_EQ(metric(i, "edits")["value"], 39);
    EXPECT_EQ(metric(i, "input_tokens")["value"], metric(0, "input_tokens")["value"]);
    EXPECT_EQ(metric(i, "stale_answers")["value"].get<int>() > 0, i == 2);
    EXPECT_EQ(metric(i, "stale_tokens")["value"].get<int>() > 0, i == 2);
  }
  // One of five parts changes, the second.
  EXPECT_NEAR(metric(0, "surviving_share")["p50"], 0.2, 0.01);
  EXPECT_NEAR(metric(1, "surviving_share")["p50"], 0.8, 0.01);
  EXPECT_GT(metric(1, "hit_tokens")["value"], metric(0, "hit_tokens")["value"]);
  results_reader results{folder_ / "r.h5"};
  table updates = results.read(1, "updates");
  ASSERT_EQ(updates.rows(), 39u);
  EXPECT_DOUBLE_EQ(updates.at("time_s").reals()[0], 0.25);
  EXPECT_EQ(updates.at("op").texts()[0], "M");
  EXPECT_EQ(updates.at("outdated_chunks").integers()[0], 1);
  done = run({"show", "r.h5"});
  EXPECT_THAT(done.out, HasSubstr("edits of the corpus"));
}

TEST_F(changing_scenarios, bound_what_prefixes_can_hit) {
  finished_program done = run_with({"policies.reuse=prefix", "policies.eviction=infinite"});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  ASSERT_FALSE(about["bounds"].empty());
  for (const nlohmann::json& bound : about["bounds"]) {
    EXPECT_EQ(bound["requests"], 100);
    EXPECT_EQ(bound["input_tokens"], about["contenders"][0]["metrics"]["input_tokens"]["value"]);
    EXPECT_GE(bound["hit_tokens"], about["contenders"][0]["metrics"]["hit_tokens"]["value"]);
  }
}

TEST_F(changing_scenarios, play_as_many_updates_as_they_are_told) {
  finished_program done = run_with({"knowledge.limit=7", "knowledge.skip=10"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.json()["contenders"][0]["metrics"]["updates"]["value"], 7);
  // A version check sees versions; a corpus that stays has one of each.
  done = run_with({"policies.reuse=versioned"});
  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_F(changing_scenarios, refuse_what_cannot_be) {
  EXPECT_THAT(refusal({"workload.serial=true"}), HasSubstr("cannot be with knowledge.speed"));
  EXPECT_THAT(refusal({"knowledge.skip=43"}), HasSubstr("43 of 42 revisions"));
  EXPECT_THAT(refusal({"knowledge.skip=0"}), HasSubstr("no document has a word"));
  EXPECT_THAT(refusal({"knowledge.speed=0"}), HasSubstr("knowledge.speed"));
  EXPECT_THAT(refusal({"knowledge.protocol=lose"}), HasSubstr("did you mean \"loose\"?"));
  EXPECT_THAT(refusal({"knowledge.invalidation=document"}), HasSubstr("knowledge.invalidation"));
  EXPECT_THAT(refusal({"retriever.embeddings=r.jsonl"}), HasSubstr("the texts to come"));
  EXPECT_THAT(refusal({"knowledge.deley=1s"}), HasSubstr("did you mean"));
  EXPECT_THAT(refusal({"contender.chunk.knowledge.speed=3"}), HasSubstr("knowledge.speed"));
  write("c.jsonl", "{\"refrain_corpus\":1}\n{\"document\":\"a\",\"text\":\"one two\"}\n");
  EXPECT_THAT(refusal({"corpus.format=corpus", "corpus.path=c.jsonl"}),
              HasSubstr("needs corpus.format \"revisions\""));
  write("r.jsonl", "{\"time\":5,\"op\":\"M\",\"path\":\"a\",\"text\":\"x\"}\n");
  EXPECT_THAT(refusal({}), HasSubstr("r.jsonl:1: a document is changed or removed"));
}

TEST_F(changing_scenarios, without_speed_refuse_the_keys_that_mean_nothing) {
  std::string text = scenario;
  text.erase(text.find("speed = 240\n"), 12);
  write("s.toml", text);
  EXPECT_THAT(refusal({}), HasSubstr("means nothing without knowledge.speed"));
  text.erase(text.find("skip = 3\n"), 9);
  for (const char* key : {"knowledge.invalidation", "knowledge.protocol", "knowledge.delay"}) {
    std::size_t at = text.find(key);
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  write("s.toml", text);
  finished_program done = run_with({});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_FALSE(done.json()["contenders"][0]["metrics"].contains("updates"));
  std::filesystem::remove(folder_ / "r.h5");
  EXPECT_THAT(refusal({"contender.chunk.knowledge.delay=1s"}),
              HasSubstr("means nothing without knowledge.speed"));
}

TEST_F(changing_scenarios, have_a_history_that_the_corpus_command_describes) {
  finished_program done =
      run({"corpus", "history", "revisions:r.jsonl", "--span", "128", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  nlohmann::json about = done.json();
  EXPECT_EQ(about["events"], 42);
  EXPECT_EQ(about["live_documents"], 3);
  ASSERT_EQ(about["chunks"].size(), 3u);
  EXPECT_EQ(about["chunks"][1]["chunking"], "heading");
  EXPECT_NEAR(about["chunks"][1]["surviving_share_prefix"]["p50"], 0.2, 0.01);
  EXPECT_NEAR(about["chunks"][1]["surviving_share_chunk"]["p50"], 0.8, 0.01);
  done = run({"corpus", "history", "revisions:r.jsonl"});
  EXPECT_THAT(done.out, HasSubstr("42 revisions (3 added, 39 modified, 0 removed)"));
  done = run({"corpus", "history", "folder:."});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("expected revisions:PATH"));
}

}  // namespace
}  // namespace refrain
