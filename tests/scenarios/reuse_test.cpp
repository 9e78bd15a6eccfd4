// Reuse outside of the prefix through the program: what RAGPulse gives, layouts, and what is
// refused with which words.
#include <gmock/gmock.h>

#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

using json = nlohmann::json;

class reuse_outside_the_prefix : public program_test {
 protected:
  static std::string head(const std::string& format, const std::string& path) {
    return "[workload]\nformat = \"" + format + "\"\n" +
           (path.empty() ? "" : "path = \"" + path + "\"\n") +
           "serial = true\n[model]\nname = \"llama-3-8b\"\n[hardware]\ngpu = \"rtx-4090\"\n";
  }

  std::map<std::string, json> metrics(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"run"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--json", "--force", "-o", "out.h5"});
    finished_program program = run(all);
    EXPECT_EQ(program.status, 0) << program.err;
    std::map<std::string, json> by_name;
    json document = program.json();
    for (const json& contender : document["contenders"]) {
      by_name[contender["name"]] = contender["metrics"];
    }
    return by_name;
  }

  static std::int64_t value(const json& metrics, const std::string& name) {
    return metrics.at(name).at("value").get<std::int64_t>();
  }

  void refused(const std::string& assignment, const std::string& pattern) const {
    finished_program program = run({"run", "s.toml", "--set", assignment});
    SCOPED_TRACE(assignment);
    EXPECT_EQ(program.status, 2);
    EXPECT_EQ(program.error_lines(), 1) << program.err;
    EXPECT_THAT(program.err, testing::ContainsRegex(pattern));
  }

  static constexpr const char* generator =
      "[workload.generator]\nrequests = 60\nturns_mean = 3\nrag_share = 1\ndocuments = 20\n"
      "documents_per_turn = 3\ndocument_tokens = 100\nsystem_tokens = 64\noutput_tokens = 20\n";
};

TEST_F(reuse_outside_the_prefix, of_ragpulse_differs_from_what_was_seen_by_the_causes_printed) {
  std::string folder = shared("ragpulse");
  if (folder.empty()) {
    GTEST_SKIP() << "RAGPulse is not here";
  }
  write("s.toml", head("ragpulse", folder) +
                      "[policies]\neviction = \"infinite\"\n"
                      "[[contender]]\nname = \"prefix\"\n"
                      "[[contender]]\nname = \"chunk\"\n"
                      "policies.reuse = { name = \"chunk\", r = 0 }\n"
                      "[[contender]]\nname = \"all\"\n"
                      "policies.reuse = { name = \"chunk\", r = 0, chunks = \"all\" }\n");
  std::vector<std::string> words{"s.toml", "--set", "workload.output_tokens=1"};
  if (refrain_debug_checks) {
    words.insert(words.end(), {"--set", "workload.limit=300"});
  }
  auto all = metrics(words);
  ASSERT_EQ(all.size(), 3u);
  for (const auto& [name, m] : all) {
    SCOPED_TRACE(name);
    if (!refrain_debug_checks) {
      EXPECT_EQ(value(m, "seen_tokens_anywhere"), 15'014'687);
      EXPECT_EQ(value(m, "seen_tokens_prefix"), 6'574'248);
    }
    EXPECT_EQ(value(m, "seen_tokens_anywhere") - value(m, "hit_tokens"),
              value(m, "seen_lost_order") + value(m, "seen_lost_floor") +
                  value(m, "seen_lost_blended") + value(m, "seen_lost_cache"));
    EXPECT_EQ(value(m, "hit_tokens_unseen"), 0);
  }
  EXPECT_EQ(value(all["prefix"], "seen_tokens_prefix") - value(all["prefix"], "hit_tokens"),
            value(all["prefix"], "seen_lost_floor"));
  EXPECT_EQ(value(all["prefix"], "hit_tokens_blended"), 0);
  EXPECT_EQ(value(all["all"], "hit_tokens"), value(all["all"], "seen_tokens_anywhere"));
  EXPECT_GT(value(all["chunk"], "hit_tokens"), value(all["prefix"], "hit_tokens"));
  EXPECT_LT(value(all["chunk"], "hit_tokens"), value(all["all"], "hit_tokens"));
}

TEST_F(reuse_outside_the_prefix, of_the_duel_rises_with_the_ratio_and_ends_where_none_is) {
  std::string folder = shared("ragpulse");
  if (folder.empty()) {
    GTEST_SKIP() << "RAGPulse is not here";
  }
  auto all = metrics({source("scenarios/ragpulse_duel.toml"), "--set", "workload.path=" + folder,
                      "--set", "workload.serial=true", "--set", "workload.limit=400"});
  auto computed = [&](const char* name) { return value(all[name], "computed_tokens"); };
  auto ttft = [&](const char* name) { return all[name]["ttft_s"]["mean"].get<double>(); };
  EXPECT_LT(computed("chunk r=0"), computed("chunk r=0.15"));
  EXPECT_LT(computed("chunk r=0.15"), computed("chunk r=1"));
  EXPECT_LT(ttft("chunk r=0"), ttft("chunk r=0.15"));
  EXPECT_LT(ttft("chunk r=0.15"), ttft("chunk r=1"));
  EXPECT_LT(computed("chunk r=0"), computed("prefix"));
  EXPECT_LT(computed("chunk r=0"), computed("reorder"));
  EXPECT_LE(computed("reorder"), computed("prefix"));
  EXPECT_EQ(computed("chunk r=1"), computed("none"));
  EXPECT_EQ(all["chunk r=1"]["ttft_s"], all["none"]["ttft_s"]);
}

TEST_F(reuse_outside_the_prefix, is_by_prefix_where_the_layout_lets_it_be) {
  write("s.toml", head("generator", "") + generator);
  auto rate = [&](const std::string& layout) {
    json m = metrics({"s.toml", "--set", "workload.layout=" + layout})["lru"];
    return value(m, "hit_tokens");
  };
  std::int64_t history_first = rate("system, history, documents, question");
  std::int64_t documents_first = rate("system, documents, history, question");
  std::int64_t documents_before_all = rate("documents, system, history, question");
  EXPECT_GT(history_first, documents_first);
  EXPECT_GT(documents_first, documents_before_all);
  EXPECT_EQ(history_first, value(metrics({"s.toml"})["lru"], "hit_tokens"))
      << "which is the generator's own layout";
}

TEST_F(reuse_outside_the_prefix, refuses_layouts_that_are_none) {
  write("s.toml", head("generator", "") + generator);
  refused("workload.layout=system,history", "workload.layout.*must name system, history");
  refused("workload.layout=system,system,documents,question", "once each");
  refused("workload.layout=system,history,dokuments,question",
          "unknown part \"dokuments\"; did you mean \"documents\"");
  write("trace.jsonl",
        R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]})");
  write("s.toml", head("mooncake", "trace.jsonl"));
  refused("workload.layout=system,history,documents,question",
          "workload.layout.*orders the parts of prompts, and this trace does not tell them");
}

TEST_F(reuse_outside_the_prefix, stops_where_the_trace_lacks_what_it_needs) {
  write("trace.jsonl",
        R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]})");
  write("s.toml", head("mooncake", "trace.jsonl"));
  for (const char* name : {"chunk", "reorder", "versioned", "similar"}) {
    refused(std::string{"policies.reuse="} + name,
            std::string{"policies.reuse.*\""} + name + "\" needs prompts by content");
  }
  write("s.toml", head("generator", "") + generator);
  refused("policies.reuse=versioned", "\"versioned\" needs documents with versions");
  refused("policies.reuse=similar", "\"similar\" needs embeddings or tokens of texts");
  write("s.toml", head("generator", "") + "[workload.generator]\nrequests = 5\nrag_share = 0\n");
  for (const char* name : {"chunk", "reorder"}) {
    refused(std::string{"policies.reuse="} + name,
            std::string{"\""} + name + "\" needs documents, and no prompt");
  }
}

TEST_F(reuse_outside_the_prefix, stops_at_loads_that_are_not_whole_and_at_wrong_parameters) {
  write("s.toml", head("generator", "") + "[policies]\nreuse = \"chunk\"\n" + generator +
                      "[tiers.host]\ncapacity = \"1GiB\"\n");
  EXPECT_EQ(run({"run", "s.toml"}).status, 0);
  refused("tiers.host.load=split", "tiers.host.load: \"chunk\" loads chunks whole");
  refused("tiers.overlap=true", "tiers.overlap: \"chunk\" loads chunks whole");
  refused("tiers.wait=best_effort", "tiers.wait: \"chunk\" loads chunks whole");
  refused("policies.reuse={name=\"chunk\", r=1.5}", "policies.reuse.r");
  refused("policies.reuse={name=\"chunk\", placement=\"tail\"}", "policies.reuse.placement");
  refused("policies.reuse={name=\"similar\", similarity_threshold=2}", "similarity_threshold");
}

TEST_F(reuse_outside_the_prefix,
       reads_versions_from_traces_that_have_them_and_refuses_empty_texts) {
  std::string header =
      R"({"format":"refrain","version":1,"content":true,"id_scope":"trace","versions":true})"
      "\n";
  auto row = [](int version, int content) {
    return R"({"input":40,"output":1,"segments":[["document",)" + std::to_string(content) +
           ",40,9," + std::to_string(version) + ",0]]}\n";
  };
  write("t.jsonl", header + row(1, 5) + row(1, 5) + row(2, 6) + row(2, 6));
  write("s.toml",
        head("refrain", "t.jsonl") +
            "[[contender]]\nname = \"a\"\npolicies.reuse = \"versioned\"\n[[contender]]\n"
            "name = \"b\"\npolicies.reuse = { name = \"versioned\", check = \"never\" }\n");
  auto all = metrics({"s.toml"});
  EXPECT_EQ(value(all["a"], "stale_tokens"), 0);
  EXPECT_GT(value(all["a"], "hit_tokens"), 0);
  EXPECT_GT(value(all["b"], "stale_tokens"), 0);
  write("t.jsonl",
        header + R"({"input":40,"output":1,"segments":[["document",5,0,9,1,0]]})" + "\n");
  refused("seed=1", "t.jsonl:2: ");
}

}  // namespace
}  // namespace refrain
