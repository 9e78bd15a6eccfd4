// Scenarios over texts with planted edits: what thresholds let through, and what is refused.
#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

constexpr const char* judged_counts[] = {
    "harmless_edits",    "number_edits", "negations",           "reuses",
    "right_reuses",      "wrong_reuses", "wrong_reuses_number", "wrong_reuses_negation",
    "wrong_reuses_other"};

class planted_scenarios : public program_test {
 protected:
  planted_scenarios() {
    std::string rows = "{\"refrain_corpus\":1}\n{\"document\":\"d\",\"text\":\"seas\"}\n";
    const char* things[] = {"moons", "rivers", "engines", "bishops", "treaties", "chloroplasts"};
    for (int i = 0; i < 24; ++i) {
      rows += "{\"question\":" + std::to_string(i) + ",\"text\":\"How many of the " +
              std::to_string(10 + i) + " " + things[i % 6] + " that lay in province " +
              std::string(1, static_cast<char>('A' + i)) + "x" + std::to_string(i * i) +
              " could the visitors of the Museum see?\"}\n";
    }
    write("c.jsonl", rows);
    std::string text = scenario;
    for (const char* match : {"cosine", "or_levenshtein", "and_tokens"}) {
      for (const char* threshold : {"0.80", "0.90", "0.95", "0.99", "1.0"}) {
        text += std::string{"[[contender]]\nname = \""} + match + " " + threshold +
                "\"\npolicies.reuse = { name = \"similar\", similarity_threshold = " + threshold +
                ", match = \"" + match + "\" }\n";
      }
    }
    write("s.toml", text);
  }

  using counts = std::map<std::string, std::int64_t>;

  /// By contender, from what the program prints as JSON.
  std::map<std::string, counts> run_all(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"run", "s.toml", "-o", "r.h5", "--force", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    finished_program done = run(words);
    EXPECT_EQ(done.status, 0) << done.err;
    std::map<std::string, counts> all;
    nlohmann::json about = done.json();
    for (const nlohmann::json& each : about["contenders"]) {
      for (const char* name : judged_counts) {
        all[each["name"]][name] = each["metrics"][name]["value"];
      }
    }
    return all;
  }

  std::string refusal(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"run", "s.toml", "-o", "refused.h5"};
    for (const std::string& each : more) {
      words.insert(words.end(), {"--set", each});
    }
    finished_program done = run(words);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_EQ(done.error_lines(), 1) << done.err;
    EXPECT_FALSE(exists("refused.h5"));
    return done.err;
  }

  static constexpr const char* scenario = R"(
seed = 1
[corpus]
path = "c.jsonl"
[workload]
format = "variants"
serial = true
[model]
name = "llama-3-8b"
[hardware]
gpu = "h100-sxm"
[[contender]]
name = "exact"
policies.reuse = "prefix"
)";
};

TEST_F(planted_scenarios, count_right_and_wrong_reuse_alike_in_rows_and_summary) {
  auto all = run_all();
  ASSERT_EQ(all.size(), 16u);
  results_reader results{folder_ / "r.h5"};
  for (std::size_t i = 0; i < results.run().contenders.size(); ++i) {
    const std::string& name = results.run().contenders[i].name;
    SCOPED_TRACE(name);
    counts& c = all[name];
    table rows = results.read(i, "requests");
    for (const char* column : judged_counts) {
      const auto& values = rows.at(column).integers();
      EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), c[column])
          << column;
    }
    EXPECT_EQ(c["harmless_edits"], 24);
    EXPECT_EQ(c["number_edits"], 24);
    EXPECT_EQ(c["negations"], 24);
    EXPECT_EQ(c["reuses"], c["right_reuses"] + c["wrong_reuses"]);
    EXPECT_EQ(c["wrong_reuses"],
              c["wrong_reuses_number"] + c["wrong_reuses_negation"] + c["wrong_reuses_other"]);
  }
  EXPECT_EQ(all["exact"]["reuses"], 0);
  EXPECT_GT(all["cosine 0.80"]["wrong_reuses"], 24);
  EXPECT_GT(all["cosine 0.80"]["right_reuses"], 0);
}

TEST_F(planted_scenarios, let_fewer_wrong_reuses_through_the_higher_the_threshold_and_none_at_1) {
  auto all = run_all();
  for (const std::string match : {"cosine", "or_levenshtein", "and_tokens"}) {
    SCOPED_TRACE(match);
    std::int64_t before = INT64_MAX;
    for (const char* threshold : {" 0.80", " 0.90", " 0.95", " 0.99", " 1.0"}) {
      std::int64_t wrong = all[match + threshold]["wrong_reuses"];
      EXPECT_LE(wrong, before) << threshold;
      before = wrong;
      EXPECT_GE(all["or_levenshtein" + std::string{threshold}]["reuses"],
                all["cosine" + std::string{threshold}]["reuses"]);
      EXPECT_GE(all["cosine" + std::string{threshold}]["reuses"],
                all["and_tokens" + std::string{threshold}]["reuses"]);
      EXPECT_EQ(all["and_tokens" + std::string{threshold}]["wrong_reuses"], 0);
    }
  }
  EXPECT_LT(all["cosine 0.95"]["wrong_reuses"], all["cosine 0.80"]["wrong_reuses"]);
  EXPECT_EQ(all["cosine 1.0"]["wrong_reuses"], 0);
  EXPECT_GT(all["cosine 1.0"]["right_reuses"], 0);
  EXPECT_GT(all["or_levenshtein 1.0"]["wrong_reuses_number"], 0) << "one token of eighteen";
}

TEST_F(planted_scenarios, print_what_each_threshold_let_through_and_only_where_it_is_known) {
  finished_program done = run({"run", "s.toml", "-o", "r.h5"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("KV of other text taken"));
  EXPECT_THAT(done.out, HasSubstr("24 harmless, 24 of one number, 24 negations"));
  EXPECT_EQ(run({"show", "r.h5"}).out, done.out.substr(0, run({"show", "r.h5"}).out.size()));
  done = run({"run", source("scenarios/quickstart.toml"), "--set", "workload.limit=20", "--set",
              "execution.sample.sessions=0"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out.find("KV of other text"), std::string::npos);
}

TEST_F(planted_scenarios, take_embeddings_of_the_texts_that_the_program_lists) {
  finished_program listed = run({"corpus", "variants", "corpus:c.jsonl", "--seed", "1"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  std::string rows;
  std::istringstream lines{listed.out};
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json text = nlohmann::json::parse(line);
    rows += "{\"fingerprint\":" + text["fingerprint"].dump() +
            ",\"embedding\":" + (text["edit"] == "number" ? "[0,1]" : "[1,0]") + "}\n";
  }
  write("e.jsonl", rows);
  auto all = run_all({"--set", "workload.variants.embeddings=e.jsonl"});
  EXPECT_EQ(all["cosine 1.0"]["wrong_reuses_negation"] + all["cosine 1.0"]["wrong_reuses_other"] +
                all["cosine 1.0"]["right_reuses"] + all["cosine 1.0"]["wrong_reuses_number"],
            4 * 24 - 2)
      << "all but the first text of either direction";
  write("e.jsonl", rows.substr(0, rows.rfind('{')));
  EXPECT_THAT(refusal({"workload.variants.embeddings=e.jsonl"}), HasSubstr("has no embedding of"));
}

TEST_F(planted_scenarios, refuse_what_they_cannot_plant) {
  EXPECT_THAT(refusal({"workload.variants.texts=question"}), HasSubstr("questions"));
  EXPECT_THAT(refusal({"workload.variants.width=4"}), HasSubstr("workload.variants.width"));
  EXPECT_THAT(refusal({"workload.questions.zipf=1"}), HasSubstr("means nothing with"));
  EXPECT_THAT(refusal({"workload.path=x"}), HasSubstr("means nothing with"));
  EXPECT_THAT(refusal({"retriever.top=3"}), HasSubstr("means nothing without a corpus"));
  write("c.jsonl", "{\"refrain_corpus\":1}\n{\"document\":1,\"text\":\"?\"}\n");
  EXPECT_THAT(refusal({}), HasSubstr("has no questions with words"));
  EXPECT_THAT(refusal({"workload.variants.texts=documents"}),
              HasSubstr("has no documents with words"));
  finished_program done =
      run({"run", source("scenarios/quickstart.toml"), "--set", "workload.variants.width=64"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("workload.variants.width: means nothing with"));
}

}  // namespace
}  // namespace refrain
