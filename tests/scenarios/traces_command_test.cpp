// `refrain traces`: published figures to their digits, bad rows, and our own format through runs.
#include <cmath>
#include <cstring>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

class traces_command : public program_test {
 protected:
  /// Sessions without names: chains of three requests behind one common block.
  std::string small_mooncake() const {
    std::string text;
    int id = 1;
    for (int i = 0; i < 90; ++i) {
      std::string ids = "0";
      for (int k = 0; k <= i % 3; ++k) {
        ids += ", " + std::to_string(id + k);
      }
      id += i % 3 == 2 ? 3 : 0;
      text += "{\"timestamp\": " + std::to_string(i * 400) +
              ", \"input_length\": " + std::to_string(512 * (2 + i % 3)) +
              ", \"output_length\": " + std::to_string(1 + i % 40) + ", \"hash_ids\": [" + ids +
              "]}\n";
    }
    return write("small.jsonl", text);
  }

  void expect_equal_runs(const std::string& path, const std::vector<std::string>& more) const {
    ASSERT_EQ(run({"traces", "mooncake:" + path, "--write", "ours.jsonl"}).status, 0);
    std::string scenario = source("scenarios/mooncake_conversation.toml");
    auto words = [&](const std::string& format, const std::string& file) {
      std::vector<std::string> all{"run",   scenario,
                                   "--set", "workload.format=" + format,
                                   "--set", "workload.path=" + file,
                                   "-o",    format + ".h5"};
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    finished_program theirs = run(words("mooncake", path));
    finished_program ours = run(words("refrain", "ours.jsonl"));
    ASSERT_EQ(theirs.status, 0) << theirs.err;
    ASSERT_EQ(ours.status, 0) << ours.err;
    results_reader a{folder_ / "mooncake.h5"}, b{folder_ / "refrain.h5"};
    EXPECT_NE(a.run().trace_sha256, b.run().trace_sha256);
    ASSERT_EQ(a.run().contenders.size(), b.run().contenders.size());
    for (std::size_t i = 0; i < a.run().contenders.size(); ++i) {
      ASSERT_EQ(a.tables(i), b.tables(i));
      EXPECT_EQ(a.run().contenders[i].parameters, b.run().contenders[i].parameters);
      for (const std::string& name : a.tables(i)) {
        expect_equal(a.read(i, name), b.read(i, name), name);
      }
    }
  }

  static void expect_equal(const table& a, const table& b, const std::string& name) {
    ASSERT_TRUE(a.same_columns(b)) << name;
    EXPECT_GT(a.rows(), 0u) << name;
    for (std::size_t i = 0; i < a.columns.size(); ++i) {
      if (const auto* reals = std::get_if<std::vector<double>>(&a.columns[i].values)) {
        const auto& others = std::get<std::vector<double>>(b.columns[i].values);
        ASSERT_EQ(reals->size(), others.size());
        for (std::size_t row = 0; row < reals->size(); ++row) {
          ASSERT_TRUE((*reals)[row] == others[row] ||
                      (std::isnan((*reals)[row]) && std::isnan(others[row])))
              << name << " " << a.columns[i].name;
        }
      } else {
        EXPECT_TRUE(a.columns[i].values == b.columns[i].values) << name << " " << a.columns[i].name;
      }
    }
  }
};

TEST_F(traces_command, one_trace_in_two_formats_gives_equal_results) {
  expect_equal_runs(small_mooncake(), {"--set", "hardware.count=2"});
}

TEST_F(traces_command, the_public_conversation_in_two_formats_gives_equal_results) {
  std::string path = shared("mooncake/conversation_trace.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the conversation trace is absent";
  }
  // Debug builds check conservation at every event, so they get the beginning.
  expect_equal_runs(
      path, {"--set", refrain_debug_checks ? "workload.limit=400" : "workload.limit=0", "--only",
             "lru", "--only", "fifo"});
}

TEST_F(traces_command, prints_the_published_figures_of_the_conversation_trace) {
  std::string path = shared("mooncake/conversation_trace.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the conversation trace is absent";
  }
  finished_program program = run({"traces", "mooncake:" + path});
  EXPECT_EQ(program.status, 0) << program.err;
  for (const char* text :
       {"12,031 read, 12,031 kept, 0 dropped", "to 3536.999 s", "1,180 distinct times",
        "p50 6,909, p90 27,367, p99 85,401, max 126,195, mean 12035.061", "p50 350,", "p99 1,120,",
        "mean 342.619", "288,500 accesses to 182,790 blocks, 138,646 (75.8%) used once, 12,031 of",
        "0.366412   105,710", "0.373624   54,098,411 of 144,793,823", "0.373380", "0.384258",
        "12,030 with any hit, 118 wholly hit",
        "cbae1655f679723e13e66e016606208ac03590d5b470d82cc4306a249288ea8a"}) {
    EXPECT_NE(program.out.find(text), std::string::npos) << text << "\n" << program.out;
  }
}

TEST_F(traces_command, prints_the_published_figures_of_the_synthetic_trace) {
  std::string path = shared("mooncake/synthetic_trace.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the synthetic trace is absent";
  }
  finished_program program = run({"traces", "mooncake:" + path});
  for (const char* text :
       {"3,993 read, 3,993 kept, 0 dropped", "to 1022.025 s",
        "p50 11,587, p90 38,615, p99 66,458, max 191,378, mean 15325.477", "p50 69,", "p99 769,",
        "mean 149.1", "121,877 accesses to 43,924 blocks, 25,673 (58.4%) used once, 24 of",
        "0.639604   77,953", "0.651244   39,852,661 of 61,194,628", "0.650431", "0.423235",
        "1,782 with any hit, 213 wholly hit"}) {
    EXPECT_NE(program.out.find(text), std::string::npos) << text << "\n" << program.out;
  }
}

TEST_F(traces_command, prints_the_published_figures_of_the_retrieval_trace) {
  std::string path = shared("ragpulse");
  if (path.empty()) {
    GTEST_SKIP() << "RAGPulse is absent";
  }
  finished_program program = run({"traces", "ragpulse:" + path});
  EXPECT_EQ(program.status, 0) << program.err;
  for (const char* text :
       {"7,106 read, 7,106 kept, 0 dropped", "block ids                none",
        "p50 3,139, p90 3,959, p99 5,439, max 7,712, mean 2943.583", "p50 234, p90 563, p99 891,",
        "sessions                 3,990", "71,583 accesses to 21,857 chunks",
        "0.720079   15,014,687 of 20,851,449 tokens; 0.694467, 49,712 of 71,583 chunks",
        "0.315290   6,574,248 of 20,851,449 tokens; 0.179596, 12,856 of 71,583 chunks",
        "0.906954   8,034,879 of 8,859,192 tokens; 0.902300, 30,006 of 33,255 chunks",
        "0.289499   2,564,723 of 8,859,192 tokens; 0.287295, 9,554 of 33,255 chunks"}) {
    EXPECT_NE(program.out.find(text), std::string::npos) << text << "\n" << program.out;
  }
}

TEST_F(traces_command, prints_the_published_figures_of_each_kind_of_chunk) {
  std::string path = shared("ragpulse/0_trace.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "RAGPulse is absent";
  }
  finished_program program = run({"traces", "ragpulse:" + path, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json kinds = program.json().at("chunks").at("kinds");
  struct published {
    const char* kind;
    std::int64_t accesses, unique, tokens;
    double hit, token_hit;
  };
  for (const published& p : {published{"system", 21'318, 6'898, 9'777'360, 0.676424, 0.680599},
                             published{"document", 33'255, 3'235, 8'859'192, 0.902300, 0.906954},
                             published{"history", 9'243, 4'910, 1'894'205, 0.468787, 0.141018},
                             published{"web", 661, 522, 269'982, 0.210287, 0.203377},
                             published{"question", 7'106, 6'292, 50'710, 0.114551, 0.065589}}) {
    for (const char* where : {"in_prompts", "alone"}) {
      const nlohmann::json& found = kinds.at(p.kind).at(where);
      EXPECT_EQ(found.at("accesses"), p.accesses) << p.kind;
      EXPECT_EQ(found.at("unique_chunks"), p.unique) << p.kind;
      EXPECT_EQ(found.at("tokens"), p.tokens) << p.kind;
      EXPECT_NEAR(found.at("hit_rate").get<double>(), p.hit, 5e-7) << p.kind;
      EXPECT_NEAR(found.at("token_hit_rate").get<double>(), p.token_hit, 5e-7) << p.kind;
    }
  }
}

TEST_F(traces_command, prints_the_published_figures_of_the_agent_conversations) {
  std::string path = shared("weka-agentic/traces_small.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the WEKA conversations are absent";
  }
  finished_program program = run({"traces", "weka:" + path});
  EXPECT_EQ(program.status, 0) << program.err;
  for (const char* text : {"449 read, 449 kept, 0 dropped",
                           "of 64 tokens, same meaning within one "
                           "session",
                           "299,032 accesses to 54,196 blocks", "0.818762   244,836",
                           "0.818143   15,669,504 of 19,152,526", "0.802636",
                           "389 with any hit, 0 wholly hit", "mean 42655.960"}) {
    EXPECT_NE(program.out.find(text), std::string::npos) << text << "\n" << program.out;
  }
}

TEST_F(traces_command, prints_the_published_figures_of_the_load_traces) {
  std::string azure = shared("azure-llm-2023/AzureLLMInferenceTrace_code.csv.gz");
  std::string burstgpt = shared("burstgpt-sample/burstgpt_1_head400.csv.gz");
  if (azure.empty() || burstgpt.empty()) {
    GTEST_SKIP() << "the load traces are absent";
  }
  finished_program code = run({"traces", "azure:" + azure});
  EXPECT_EQ(code.status, 0) << code.err;
  for (const char* text : {"8,819 read, 8,819 kept", "3435.948 s, 2.56669 requests/s, 8,819",
                           "p50 1,469, p90 5,194, p99 7,436, max 7,437, mean 2047.848",
                           "p50 13, p90 55, p99 252, max 1,899, mean 27.883", "names no content"}) {
    EXPECT_NE(code.out.find(text), std::string::npos) << text << "\n" << code.out;
  }
  finished_program head = run({"traces", "burstgpt:" + burstgpt});
  EXPECT_EQ(head.status, 2) << "failed requests are bad rows";
  EXPECT_NE(head.out.find("400 read, 383 kept, 17 dropped"), std::string::npos) << head.out;
  EXPECT_NE(head.out.find("17 times a failed request"), std::string::npos) << head.out;
}

TEST_F(traces_command, a_run_of_a_trace_without_names_refuses_the_reuse_it_was_asked_for) {
  write("load.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-11-16 18:17:03.9799600,480,10\r\n2023-11-16 18:17:04.0319600,318,8");
  auto scenario = [&](const std::string& policies) {
    write("run.toml",
          "[workload]\nformat = \"azure\"\npath = \"load.csv\"\n[model]\nname = "
          "\"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n" +
              policies);
    return run({"run", "run.toml"});
  };
  finished_program asked = scenario("[policies]\nreuse = \"prefix\"\n");
  EXPECT_EQ(asked.status, 2);
  EXPECT_EQ(asked.err,
            "refrain: run.toml:9: policies.reuse: \"prefix\" needs block ids or content, and this "
            "trace has neither; expected \"none\"\n");
  finished_program standard = scenario("");
  EXPECT_EQ(standard.status, 0) << standard.err;
  EXPECT_NE((standard.out + standard.err).find("the trace has neither block ids nor content"),
            std::string::npos)
      << standard.out << standard.err;
  finished_program none = scenario("[policies]\nreuse = \"none\"\n");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_EQ((none.out + none.err).find("neither block ids"), std::string::npos);
}

TEST_F(traces_command, counts_a_small_trace_as_by_hand) {
  finished_program program = run({"traces", "mooncake:" + small_mooncake(), "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json document = program.json();
  // Thirty chains of 2, 3 and 4 blocks; all but the very first request find block 0.
  const nlohmann::json& endless = document.at("endless_cache");
  EXPECT_EQ(endless.at("accesses"), 30 * 9);
  EXPECT_EQ(endless.at("unique_blocks"), 1 + 30 * 3);
  EXPECT_EQ(endless.at("prefix_hits"), 30 * (1 + 2 + 3) - 1);
  EXPECT_EQ(endless.at("most_used_block_accesses"), 90);
  EXPECT_EQ(endless.at("single_use_blocks"), 30);
  EXPECT_EQ(endless.at("hit_tokens"), (30 * 6 - 1) * 512);
  EXPECT_EQ(endless.at("requests_with_a_hit"), 89);
  EXPECT_EQ(endless.at("requests_wholly_hit"), 0);
  EXPECT_EQ(document.at("rows").at("kept"), 90);
  EXPECT_EQ(document.at("times").at("distinct"), 90);
  EXPECT_EQ(document.at("input_tokens").at("max"), 4 * 512);
  EXPECT_EQ(document.at("output_tokens").at("p50"), 18);
  EXPECT_FALSE(document.contains("sessions"));
}

TEST_F(traces_command, lists_every_bad_row_and_exits_with_2) {
  std::string text = R"({"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": [1]})"
                     "\n";
  for (int i = 0; i < 25; ++i) {
    text += "{\"timestamp\": " + std::to_string(i % 5) +
            ", \"input_length\": 10, \"output_length\": 1, \"hash_ids\": [1]}\n";
  }
  write("bad.jsonl", text + "{\n");
  finished_program program = run({"traces", "mooncake:bad.jsonl"});
  EXPECT_EQ(program.status, 2);
  EXPECT_EQ(program.err, "refrain: bad.jsonl: 26 of 27 rows are bad\n");
  EXPECT_NE(program.out.find("\n  bad.jsonl:21: "), std::string::npos) << program.out;
  EXPECT_EQ(program.out.find("\n  bad.jsonl:22: "), std::string::npos);
  EXPECT_NE(program.out.find("and 6 more"), std::string::npos);
  EXPECT_NE(program.out.find("27 read, 1 kept, 26 dropped"), std::string::npos);
  finished_program all = run({"traces", "mooncake:bad.jsonl", "--json", "--write", "x.jsonl"});
  EXPECT_EQ(all.status, 2);
  EXPECT_EQ(all.json().at("bad_rows").size(), 26u);
  EXPECT_EQ(all.json().at("rows").at("read"), 27);
  EXPECT_FALSE(exists("x.jsonl"));
}

TEST_F(traces_command, says_what_is_wrong_with_a_file_without_one_good_row) {
  write("bad.jsonl", "{}\n[]\n");
  finished_program program = run({"traces", "mooncake:bad.jsonl"});
  EXPECT_EQ(program.status, 2);
  EXPECT_NE(program.out.find("bad.jsonl:2: not a JSON object"), std::string::npos) << program.out;
  EXPECT_TRUE(program.err.starts_with("refrain: bad.jsonl: all 2 rows are bad")) << program.err;
  EXPECT_EQ(program.error_lines(), 1);
}

TEST_F(traces_command, describes_objects_by_their_sizes) {
  auto record = [](std::uint32_t time, std::uint64_t id, std::uint32_t size) {
    std::string bytes(24, '\0');
    std::memcpy(bytes.data(), &time, 4);
    std::memcpy(bytes.data() + 4, &id, 8);
    std::memcpy(bytes.data() + 12, &size, 4);
    return bytes;
  };
  write("objects.bin", record(0, 1, 10) + record(1, 2, 30) + record(2, 1, 10) + record(4, 1, 10));
  finished_program program = run({"traces", "oracle_general:objects.bin", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json objects = program.json().at("objects");
  EXPECT_EQ(objects.at("accesses"), 4);
  EXPECT_EQ(objects.at("objects"), 2);
  EXPECT_EQ(objects.at("hits"), 2);
  EXPECT_EQ(objects.at("hit_rate"), 0.5);
  EXPECT_EQ(objects.at("unique_size"), 40);
  EXPECT_EQ(objects.at("most_used_object_accesses"), 3);
  EXPECT_DOUBLE_EQ(objects.at("size_hit_rate"), 20.0 / 60);
  EXPECT_FALSE(program.json().contains("input_tokens"));
}

TEST_F(traces_command, fit_writes_tables_that_make_a_scenario) {
  finished_program program =
      run({"traces", "mooncake:" + small_mooncake(), "--fit", "fitted.toml"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_NE(program.err.find("hit an endless cache"), std::string::npos) << program.err;
  std::string text = read("fitted.toml");
  for (const char* part :
       {"[workload.generator]", "requests = 90\n", "system_tokens = 512\n",
        "turns_quantiles = \"p0:3,", "think_time_quantiles = \"p0:0.4s,p100:0.4s\"",
        "[kv]\nblock_tokens = 512\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  write("run.toml", "seed = 3\n" + text +
                        "\n[model]\nname = \"llama-3-8b\"\n[hardware]\ngpu = " + "\"h100-sxm\"\n");
  finished_program whole = run({"run", "run.toml", "--json"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  nlohmann::json bounds = whole.json().at("bounds").at(0);
  EXPECT_EQ(bounds.at("requests"), 90);
  EXPECT_NEAR(bounds.at("hit_tokens").get<double>() / bounds.at("input_tokens").get<double>(),
              179.0 / 270, 0.03);
  finished_program again = run({"traces", "mooncake:small.jsonl", "--fit", "fitted.toml"});
  EXPECT_EQ(again.status, 2);
  EXPECT_EQ(again.err, "refrain: fitted.toml: exists; name a new file\n");
}

TEST_F(traces_command, help_documents_our_format_and_lists_all) {
  finished_program program = run({"traces", "--help"});
  EXPECT_EQ(program.status, 0);
  for (const char* text :
       {"usage: refrain traces", "oracle_general", "arrival_ns", "segments", "block_tokens",
        "--write", "--fit", "ragpulse", "weka", "bailian", "azure", "burstgpt", "agentic"}) {
    EXPECT_NE(program.out.find(text), std::string::npos) << text;
  }
}

TEST_F(traces_command, names_what_it_was_given_wrongly) {
  EXPECT_EQ(run({"traces", "x.jsonl"}).err, "refrain: x.jsonl: expected FORMAT:PATH\n");
  EXPECT_EQ(run({"traces", "moncake:x"}).err,
            "refrain: moncake:x: unknown trace format \"moncake\"; did you mean \"mooncake\"?\n");
  EXPECT_EQ(run({"traces", "mooncake:none"}).status, 2);
  EXPECT_EQ(run({"traces"}).status, 2);
}

}  // namespace
}  // namespace refrain
