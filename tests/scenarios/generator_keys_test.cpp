// Keys of [workload.generator] as people write them, right and wrong.
#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

class generator_keys : public program_test {
 protected:
  finished_program run_with(const std::vector<std::string>& sets) const {
    std::vector<std::string> words{
        "run",   source("scenarios/quickstart.toml"), "--only", "lru", "--json", "-o", "x.h5",
        "--set", "execution.sample.sessions=0",       "--force"};
    for (const std::string& each : sets) {
      words.push_back("--set");
      words.push_back("workload.generator." + each);
    }
    return run(words);
  }
  std::string error_with(const std::vector<std::string>& sets) const {
    finished_program program = run_with(sets);
    EXPECT_EQ(program.status, 2) << program.out;
    std::string start = "refrain: --set workload.generator.";
    return program.err.starts_with(start)
               ? program.err.substr(start.size(), program.err.size() - start.size() - 1)
               : program.err;
  }
};

TEST_F(generator_keys, quantiles_are_words_or_points) {
  std::string number = "requests=40";
  finished_program words = run_with({number, "output_tokens_quantiles=p0:5,p50:9,p100:70"});
  ASSERT_EQ(words.status, 0) << words.err;
  finished_program points = run_with({number, "output_tokens_quantiles=[[0,5],[50,9],[100,70]]"});
  ASSERT_EQ(points.status, 0) << points.err;
  EXPECT_EQ(words.json().at("contenders"), points.json().at("contenders"));
  finished_program other = run_with({number, "output_tokens_quantiles=[[0,5],[50,10],[100,70]]"});
  EXPECT_NE(other.json().at("contenders"), points.json().at("contenders"));
  EXPECT_EQ(run_with({number, "think_time_quantiles=[[0,\"1s\"],[100,\"1min\"]]"}).status, 0);
}

TEST_F(generator_keys, every_option_at_once_makes_a_run) {
  finished_program program =
      run_with({"requests=60", "arrivals=on_off", "off_sessions_per_second=0.1", "on_time=20s",
                "think_time_law=exponential", "rag_think_time=5s", "rag_think_time_law=exponential",
                "document_drift=100", "document_repeat=0.5", "single_turn_share=0.2",
                "system_share=0.5", "history_kept_quantiles=p0:0.5,p100:1", "answers_recur=false",
                "tenants=2", "tenant_system_prompts=true"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(program.json().at("bounds").at(0).at("requests"), 60);
  EXPECT_EQ(run_with({"requests=9", "arrivals=gamma", "arrivals_shape=0.5"}).status, 0);
  EXPECT_EQ(run_with({"requests=9", "arrivals=diurnal", "diurnal_period=1h"}).status, 0);
}

TEST_F(generator_keys, arrivals_are_replayed_from_a_trace) {
  write("a.jsonl", R"({"timestamp": 0, "input_length": 1, "output_length": 1})"
                   "\n"
                   R"({"timestamp": 500, "input_length": 1, "output_length": 1})"
                   "\n");
  finished_program program = run_with({"requests=100", "turns_mean=1", "arrivals=replayed",
                                       "replay_path=a.jsonl", "replay_format=mooncake"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(program.json().at("bounds").at(0).at("requests"), 2);
}

TEST_F(generator_keys, that_are_wrong_are_named) {
  EXPECT_EQ(error_with({"output_tokens_quantiles=p0:5,p50:1,p100:70"}),
            "output_tokens_quantiles: the values fall; expected quantiles such as "
            "\"p0:1,p50:20,p99:400,p100:900\"");
  EXPECT_EQ(error_with({"history_kept_quantiles=p0:0,p100:2"}),
            "history_kept_quantiles: must be 0 to 1, found 2");
  EXPECT_EQ(error_with({"turns_quantiles=7"}),
            "turns_quantiles: expected quantiles such as \"p0:1,p50:20,p100:900\" or [[0, 1], [50, "
            "20], [100, 900]], found 7");
  EXPECT_NE(error_with({"think_time_quantiles=[[0,1],[100,2]]"}).find("is not a time"),
            std::string::npos);
  EXPECT_EQ(error_with({"arrivals=poison"}),
            "arrivals: unknown value \"poison\"; did you mean \"poisson\"?");
  EXPECT_EQ(
      error_with({"arrivals=replayed"}),
      "refrain: workload.generator.replay_path: is missing: the trace whose session starts are "
      "replayed\n");
  EXPECT_EQ(error_with({"arrivals=replayed", "replay_path=x"}),
            "replay_path: needs workload.generator.replay_format, the format of that trace");
  EXPECT_EQ(error_with({"arrivals=replayed", "replay_path=x", "replay_format=moncake"}),
            "replay_format: unknown trace format \"moncake\"; did you mean \"mooncake\"?");
  EXPECT_TRUE(
      error_with({"arrivals=replayed", "replay_path=x", "replay_format=mooncake"}).find("x") !=
      std::string::npos);
}

}  // namespace
}  // namespace refrain
