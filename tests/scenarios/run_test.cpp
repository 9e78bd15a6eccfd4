// Whole runs of the program: determinism, results, what is left of a run that was killed.
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

class whole_run : public program_test {
 protected:
  // Without its sample, whose times differ from run to run.
  std::string quickstart_ = write("quickstart.toml", without_sample());
  // Debug builds check conservation at every event, so they get fewer requests.
  std::string requests_ =
      refrain_debug_checks ? "workload.generator.requests=100" : "workload.generator.requests=600";

  static std::string without_sample() {
    std::ifstream file{source("scenarios/quickstart.toml")};
    std::string text;
    for (std::string line; std::getline(file, line);) {
      text += line.starts_with("sample = ") ? "" : line + "\n";
    }
    return text;
  }

  table requests(const std::string& file, std::size_t contender) const {
    return results_reader{folder_ / file}.read(contender, "requests");
  }
};

TEST_F(whole_run, gives_the_same_bytes_with_one_and_two_threads) {
  ASSERT_EQ(run({"run", quickstart_, "--set", requests_, "-o", "one.h5", "--jobs", "1"}).status, 0);
  ASSERT_EQ(run({"run", quickstart_, "--set", requests_, "-o", "two.h5", "--jobs", "2"}).status, 0);
  EXPECT_EQ(read("one.h5"), read("two.h5"));
  EXPECT_EQ(results(), (std::vector<std::string>{"one.h5", "two.h5"}));
}

TEST_F(whole_run, with_several_routers_gives_the_same_bytes_with_one_and_two_threads) {
  auto with_jobs = [&](const char* jobs, const char* file) {
    return run({"run",    quickstart_,
                "--set",  requests_,
                "--set",  "hardware.count=4",
                "--set",  "routers.count=2",
                "--set",  "routers.delay=50ms",
                "--set",  "policies.routing=prefix_aware",
                "--set",  "contender.lru.policies.routing=cost_based",
                "--set",  "contender.fifo.policies.routing=sticky",
                "--set",  "contender.infinite.routers.poll=1s",
                "-o",     file,
                "--jobs", jobs});
  };
  finished_program one = with_jobs("1", "one.h5");
  ASSERT_EQ(one.status, 0) << one.err;
  ASSERT_EQ(with_jobs("2", "two.h5").status, 0);
  EXPECT_EQ(read("one.h5"), read("two.h5"));
  // One row for each contender that asks what executors hold.
  std::size_t table = one.out.find("reusable prompt tokens");
  ASSERT_NE(table, std::string::npos);
  EXPECT_NE(one.out.find("\nlru ", table), std::string::npos);
  EXPECT_EQ(one.out.find("\nfifo ", table), std::string::npos);
}

TEST_F(whole_run, has_other_arrivals_and_times_with_another_seed) {
  ASSERT_EQ(run({"run", quickstart_, "--set", requests_, "-o", "one.h5", "--only", "lru"}).status,
            0);
  ASSERT_EQ(
      run({"run", quickstart_, "--set", requests_, "-o", "two.h5", "--only", "lru", "--seed", "2"})
          .status,
      0);
  table one = requests("one.h5", 0);
  table two = requests("two.h5", 0);
  ASSERT_GE(one.rows(), 100u);
  EXPECT_NE(one.at("arrival_s").reals(), two.at("arrival_s").reals());
  EXPECT_NE(one.at("ttft_s").reals(), two.at("ttft_s").reals());
}

TEST_F(whole_run, of_the_quickstart_shows_what_each_contender_gains) {
  finished_program program = run({"run", quickstart_, "--set", requests_, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json document = program.json();
  EXPECT_EQ(document.at("result"), "quickstart-1.h5");
  EXPECT_EQ(document.at("seed"), 1);
  EXPECT_TRUE(document.at("complete"));
  std::map<std::string, std::int64_t> hits;
  for (const nlohmann::json& each : document.at("contenders")) {
    hits[each.at("name")] = each.at("metrics").at("hit_tokens").at("value");
    EXPECT_TRUE(each.at("metrics").at("ttft_s").contains("p99"));
    EXPECT_EQ(each.at("policies").at("batching").at("token_budget"), 2048);
  }
  EXPECT_EQ(hits.at("none"), 0);
  EXPECT_LT(hits.at("fifo"), hits.at("lru"));
  EXPECT_LT(hits.at("lru"), hits.at("infinite"));
  nlohmann::json first = document.at("comparison")[0];
  EXPECT_EQ(first.at("a"), "none");
  EXPECT_EQ(first.at("b"), "fifo");
  EXPECT_TRUE(first.at("low").is_null());
  EXPECT_EQ(first.at("verdict"), "undecided");
  EXPECT_EQ(run({"show", "quickstart-1.h5", "--json"}).json(), document);
}

TEST_F(whole_run, takes_the_next_free_name_and_replaces_only_when_forced) {
  auto one = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"run",  quickstart_, "--only",
                                   "none", "--set",     "workload.generator.requests=5"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_EQ(one({}).status, 0);
  EXPECT_EQ(one({}).status, 0);
  EXPECT_EQ(results(), (std::vector<std::string>{"quickstart-1-2.h5", "quickstart-1.h5"}));
  std::string before = read("quickstart-1.h5");
  finished_program refused = one({"-o", "quickstart-1.h5", "--seed", "3"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("exists already; --force replaces it"), std::string::npos);
  EXPECT_EQ(read("quickstart-1.h5"), before);
  EXPECT_EQ(one({"-o", "quickstart-1.h5", "--force", "--seed", "3"}).status, 0);
  EXPECT_NE(read("quickstart-1.h5"), before);
}

TEST_F(whole_run, warns_of_what_it_cannot_show) {
  finished_program program =
      run({"run", quickstart_, "--only", "fifo", "--only", "lru", "--set", "tiers.gpu.share=90%",
           "--set", "workload.generator.requests=20", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  std::string warnings = program.json().at("warnings").dump();
  EXPECT_NE(warnings.find("fifo, lru: the cache never filled"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("fifo and lru served every request alike"), std::string::npos);
}

TEST_F(whole_run, says_which_of_two_limits_ended_the_generator) {
  finished_program program = run({"run", quickstart_, "--only", "none", "--set",
                                  "workload.generator.sessions=1000", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_NE(program.json()
                .at("warnings")
                .dump()
                .find("workload.generator.requests = 600 ended the workload after"),
            std::string::npos);
}

TEST_F(whole_run, warns_once_where_no_request_fits) {
  finished_program program = run({"run", quickstart_, "--set", "tiers.gpu.blocks=2", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json warnings = program.json().at("warnings");
  ASSERT_EQ(warnings.size(), 2u) << warnings.dump();
  EXPECT_EQ(warnings[1], "none, fifo, lru, infinite: no request was served");
  EXPECT_TRUE(program.json().at("contenders")[0].at("metrics").at("ttft_s").at("value").is_null());
}

TEST_F(whole_run, that_fails_keeps_its_parts_and_says_so) {
  std::filesystem::create_directories(folder_ / "x.h5.tmp" / "in the way");
  finished_program program = run({"run", quickstart_, "-o", "x.h5", "--only", "none"});
  EXPECT_EQ(program.status, 1);
  EXPECT_NE(program.err.find("x.h5.parts holds what is done"), std::string::npos) << program.err;
  EXPECT_FALSE(exists("x.h5"));
  EXPECT_TRUE(exists("x.h5.parts/run.h5"));
}

TEST_F(whole_run, drops_bad_rows_only_where_asked_to_and_counts_them) {
  write("trace.jsonl",
        R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]})"
        "\n"
        R"({"timestamp": 1, "input_length": -1, "output_length": 4, "hash_ids": [1, 2]})"
        "\n");
  write("s.toml",
        "[workload]\nformat = \"mooncake\"\npath = \"trace.jsonl\"\n[model]\nname = "
        "\"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n");
  EXPECT_EQ(run({"run", "s.toml"}).status, 2);
  finished_program program = run({"run", "s.toml", "--set", "workload.bad_rows=drop", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(program.json().at("contenders")[0].at("metrics").at("requests_done").at("value"), 1);
  EXPECT_NE(program.json().at("warnings").dump().find("1 of 2 rows of the trace were dropped"),
            std::string::npos);
}

TEST_F(whole_run, of_the_measured_server_prints_measured_beside_simulated) {
  std::string trace =
      shared("gpu-profiles/llmservingsim/bench__RTX4090__Llama-3.1-8B__vllm__requests.jsonl.xz");
  if (trace.empty()) {
    GTEST_SKIP() << "the measured vLLM run is absent";
  }
  finished_program program = run(
      {"run", source("scenarios/vllm_rtx4090.toml"), "--set", "workload.path=" + trace, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json measured = program.json().at("contenders")[0].at("measured");
  for (const char* metric : {"ttft_s", "tpot_s", "e2e_s"}) {
    EXPECT_LT(std::abs(measured.at(metric).at("relative_error").get<double>()), 0.03) << metric;
    EXPECT_EQ(measured.at(metric).at("count"), 300);
  }
  EXPECT_LT(measured.at("e2e_s").at("mean_absolute_relative_error"), 0.02);
}

TEST_F(whole_run, that_was_killed_can_be_read_so_far) {
  pid_t process =
      start({"run", quickstart_, "-o", "cut.h5", "--jobs", "1", "--only", "none", "--set",
             refrain_debug_checks ? "workload.generator.requests=8000"
                                  : "workload.generator.requests=60000"});
  wait_until_exists({"cut.h5.parts/0000.requests.000002.h5"}, process);
  kill(process, SIGKILL);
  EXPECT_EQ(wait(process).status, 128 + SIGKILL);
  EXPECT_FALSE(exists("cut.h5"));
  finished_program shown = run({"show", "cut.h5", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  nlohmann::json document = shown.json();
  EXPECT_FALSE(document.at("complete"));
  EXPECT_NE(document.at("warnings").dump().find("incomplete"), std::string::npos);
  EXPECT_GE(document.at("contenders")[0].at("metrics").at("requests_done").at("value"), 2048);
  // What is left is not lost by accident.
  finished_program again = run({"run", quickstart_, "-o", "cut.h5"});
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.err.find("--force replaces what was left"), std::string::npos);
  EXPECT_TRUE(exists("cut.h5.parts/run.h5"));
}

TEST_F(whole_run, that_was_interrupted_says_what_is_left) {
  pid_t process = start({"run", quickstart_, "-o", "cut.h5", "--jobs", "2", "--set",
                         refrain_debug_checks ? "workload.generator.requests=8000"
                                              : "workload.generator.requests=60000"});
  wait_until_exists({"cut.h5.parts/0000.requests.000001.h5"}, process);
  kill(process, SIGINT);
  finished_program program = wait(process);
  EXPECT_EQ(program.status, 130);
  EXPECT_NE(program.err.find("cut.h5.parts holds what is done; refrain show cut.h5.parts reads it"),
            std::string::npos);
  EXPECT_FALSE(exists("cut.h5"));
  EXPECT_EQ(run({"show", "cut.h5"}).status, 0);
}

TEST_F(whole_run, that_is_interrupted_at_any_moment_leaves_with_130_or_is_done) {
  std::uint64_t seed = 11;
  SCOPED_TRACE(seed);
  random_stream random{seed, "moments"};
  int interruptions = 0;
  for (int i = 0; i < 12; ++i) {
    pid_t process = start({"run", quickstart_, "-o", "cut.h5", "--force", "--jobs", "2", "--set",
                           refrain_debug_checks ? "workload.generator.requests=100"
                                                : "workload.generator.requests=2000"});
    // Not before main() has run: until then the system's own rules hold.
    wait_until_exists({"cut.h5.parts", "cut.h5"}, process);
    usleep(static_cast<useconds_t>(random.below(1'000'000)));
    kill(process, i % 3 == 0 ? SIGTERM : SIGINT);
    if (i % 4 == 0) {
      kill(process, SIGINT);
    }
    finished_program program = wait(process);
    EXPECT_TRUE(program.status == 130 || program.status == 0) << program.status << program.err;
    interruptions += program.status == 130 ? 1 : 0;
    EXPECT_FALSE(exists("cut.h5.tmp"));
    EXPECT_EQ(exists("cut.h5"), program.status == 0);
    if (exists("cut.h5.parts/run.h5")) {
      EXPECT_NE(program.err.find("refrain show cut.h5.parts reads it"), std::string::npos);
      EXPECT_EQ(run({"show", "cut.h5.parts"}).status, 0);
    }
    std::filesystem::remove(folder_ / "cut.h5");
    std::filesystem::remove_all(folder_ / "cut.h5.parts");
  }
  EXPECT_GT(interruptions, 0);
}

TEST_F(whole_run, that_was_started_by_nohup_outlives_its_terminal) {
  auto before = signal(SIGHUP, SIG_IGN);  // inherited
  pid_t process = start({"run", quickstart_, "-o", "whole.h5"});
  signal(SIGHUP, before);
  wait_until_exists({"whole.h5.parts", "whole.h5"}, process);
  kill(process, SIGHUP);
  EXPECT_EQ(wait(process).status, 0);
  EXPECT_TRUE(exists("whole.h5"));
}

TEST_F(whole_run, of_which_a_part_is_gone_is_shown_with_a_warning) {
  pid_t process =
      start({"run", quickstart_, "-o", "cut.h5", "--jobs", "1", "--only", "none", "--set",
             refrain_debug_checks ? "workload.generator.requests=8000"
                                  : "workload.generator.requests=60000"});
  wait_until_exists({"cut.h5.parts/0000.requests.000003.h5"}, process);
  kill(process, SIGINT);
  EXPECT_EQ(wait(process).status, 130);
  std::filesystem::remove(folder_ / "cut.h5.parts" / "0000.requests.000001.h5");
  for (const char* name : {"cut.h5", "cut.h5.parts"}) {
    finished_program shown = run({"show", name});
    EXPECT_EQ(shown.status, 0);
    EXPECT_NE(shown.out.find("Results so far: cut.h5.parts\n"), std::string::npos) << shown.out;
    EXPECT_NE(shown.err.find("none: rows are missing: 1 of the first"), std::string::npos);
  }
}

TEST_F(whole_run, whose_file_was_damaged_is_refused_or_shown_and_never_crashes) {
  ASSERT_EQ(run({"run", quickstart_, "-o", "whole.h5", "--only", "lru", "--set",
                 "workload.generator.requests=100"})
                .status,
            0);
  std::string whole = read("whole.h5");
  std::uint64_t seed = 5;
  SCOPED_TRACE(seed);
  random_stream random{seed, "flipped bits"};
  int refused = 0;
  for (int i = 0; i < (refrain_debug_checks ? 20 : 60); ++i) {
    std::string damaged = whole;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      char& byte = damaged[random.below(damaged.size())];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
    }
    write("damaged.h5", damaged);
    finished_program shown = run({"show", "damaged.h5"});
    ASSERT_LE(shown.status, 2) << shown.err;
    refused += shown.status == 0 ? 0 : 1;
    EXPECT_EQ(shown.status == 0, shown.err.find("damaged.h5") == std::string::npos) << shown.err;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(whole_run, in_serial_order_finds_what_replay_finds) {
  std::string trace = shared("mooncake/conversation_trace.jsonl.gz");
  if (trace.empty()) {
    GTEST_SKIP() << "the conversation trace is absent";
  }
  finished_program program =
      run({"run", source("scenarios/mooncake_conversation.toml"), "--only", "lru", "--only",
           "infinite", "--set", "workload.path=" + trace, "--set", "workload.serial=true", "--set",
           "workload.output_tokens=1", "--set",
           refrain_debug_checks ? "workload.limit=500" : "workload.limit=2000", "--set",
           "hardware.count=1", "--set", "tiers.gpu.blocks=1000", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json document = program.json();
  std::map<std::string, std::int64_t> hits;
  for (const nlohmann::json& each : document.at("contenders")) {
    hits[each.at("name")] = each.at("metrics").at("hit_blocks").at("value");
  }
  EXPECT_EQ(hits.at("infinite"), document.at("bounds")[0].at("hit_blocks"));
  EXPECT_GT(hits.at("lru"), 0);
  EXPECT_LT(hits.at("lru"), hits.at("infinite"));
  EXPECT_EQ(document.at("warnings"), nlohmann::json::array());
}

}  // namespace
}  // namespace refrain
