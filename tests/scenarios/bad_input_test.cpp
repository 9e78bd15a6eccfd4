// Bad input through the command line: one line on stderr that says where, exit status 2, and
// nothing left that looks like results.
#include <gmock/gmock.h>

#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

const char* row = R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]})"
                  "\n";

class bad_input : public program_test {
 protected:
  /// Runs a scenario over mooncake rows, or one of the lines of its own text.
  finished_program run_rows(const std::string& rows, const std::string& more = "") {
    write("trace.jsonl", rows);
    write("s.toml",
          "[workload]\nformat = \"mooncake\"\npath = \"trace.jsonl\"\n[model]\nname = "
          "\"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n" +
              more);
    return run({"run", "s.toml"});
  }

  /// The same for an assignment on top of a scenario with a contender "lru".
  void refused(const std::string& assignment, const std::string& pattern) {
    write("trace.jsonl", row);
    write("s.toml",
          "[workload]\nformat = \"mooncake\"\npath = \"trace.jsonl\"\n[model]\nname = "
          "\"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n[[contender]]\nname = \"lru\"\n");
    SCOPED_TRACE(assignment);
    expect_refused(run({"run", "s.toml", "--set", assignment}), pattern);
  }

  void expect_refused(const finished_program& program, const std::string& pattern) {
    EXPECT_EQ(program.status, 2);
    EXPECT_EQ(program.error_lines(), 1) << program.err;
    EXPECT_EQ(program.out, "");
    EXPECT_THAT(program.err, testing::ContainsRegex(pattern));
    EXPECT_EQ(results(), std::vector<std::string>{});
  }
};

TEST_F(bad_input, good_rows_are_accepted_so_that_the_other_tests_mean_something) {
  finished_program program = run_rows(row);
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(results(), std::vector<std::string>{"s-0.h5"});
}

TEST_F(bad_input, missing_scenario) {
  expect_refused(run({"run", "absent.toml"}), "absent.toml: cannot be read");
}

TEST_F(bad_input, missing_trace) {
  expect_refused(run_rows(row,
                          "\n[tiers.gpu]\nblocks = 5\n[[contender]]\nname = \"a\"\n"
                          "policies.evictionn = \"lru\"\n"),
                 "s.toml:13: unknown key \"policies.evictionn\"; did you mean");
  expect_refused(
      run({"run", write("t.toml", "[workload]\nformat = \"mooncake\"\npath = \"no.gz\"\n"), "--set",
           "model.name=llama-3-8b"}),
      "no.gz");
}

TEST_F(bad_input, truncated_gz) {
  std::string rows;
  for (int i = 0; i < 2000; ++i) {
    rows += R"({"timestamp": )" + std::to_string(i * 7919 % 100 + i * 100) +
            R"(, "input_length": 600, "output_length": 4, "hash_ids": [1, )" + std::to_string(i) +
            "]}\n";
  }
  write("trace.jsonl", rows);
  ASSERT_EQ(std::system(("gzip -f " + (folder_ / "trace.jsonl").string()).c_str()), 0);
  std::string packed = read("trace.jsonl.gz");
  write("cut.jsonl.gz", packed.substr(0, packed.size() / 2));
  run_rows(row);
  std::filesystem::remove(folder_ / "s-0.h5");
  expect_refused(run({"run", "s.toml", "--set", "workload.path=cut.jsonl.gz"}), "cut.jsonl.gz");
}

TEST_F(bad_input, binary_garbage) {
  std::string garbage;
  for (int i = 0; i < 4096; ++i) {
    garbage += static_cast<char>(i * 2654435761u >> 13);
  }
  expect_refused(run_rows(garbage), "trace.jsonl:1: ");
}

TEST_F(bad_input, negative_length) {
  expect_refused(
      run_rows(std::string{row} +
               R"({"timestamp": 0, "input_length": -600, "output_length": 4, "hash_ids": [1]})"
               "\n"),
      "trace.jsonl:2: .*input_length");
}

TEST_F(bad_input, clock_that_runs_backwards) {
  expect_refused(
      run_rows(R"({"timestamp": 9, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]})"
               "\n" +
               std::string{row}),
      "trace.jsonl:2: ");
}

TEST_F(bad_input, ids_as_strings) {
  expect_refused(
      run_rows(
          R"({"timestamp": 9, "input_length": 600, "output_length": 4, "hash_ids": ["1", "2"]})"
          "\n"),
      "trace.jsonl:1: .*hash_ids");
}

TEST_F(bad_input, empty_trace) {
  expect_refused(run_rows(""), "trace.jsonl: holds no rows");
}

TEST_F(bad_input, unknown_policy) {
  expect_refused(run_rows(row, "[policies]\neviction = \"lru2\"\n"),
                 "s.toml:9: policies.eviction: unknown eviction policy \"lru2\"; did you mean "
                 "\"lru\"");
  expect_refused(run_rows(row, "[policies]\neviction = \"no_such\"\n"),
                 "unknown eviction policy \"no_such\"");
  expect_refused(run_rows(row, "[policies]\nrouting = \"prefix_awar\"\n"),
                 "unknown routing policy \"prefix_awar\"; did you mean \"prefix_aware\"");
}

TEST_F(bad_input, unknown_policy_parameter) {
  expect_refused(run_rows(row, "[policies]\nbatching = { name = \"fcfs\", token_budgett = 4 }\n"),
                 "s.toml:9: policies.batching: unknown parameter \"token_budgett\"; did you mean "
                 "\"token_budget\"");
  expect_refused(run_rows(row, "[policies]\nbatching = { name = \"fcfs\", token_budget = 0 }\n"),
                 "s.toml:9: policies.batching.token_budget: 0 is outside 1 to");
}

TEST_F(bad_input, policy_that_needs_sessions_of_a_trace_without) {
  expect_refused(run_rows(row, "[policies]\neviction = \"t_lru\"\n"),
                 "s.toml:9: policies.eviction: \"t_lru\" needs sessions, and this trace has none");
  expect_refused(run_rows(row, "[policies]\nrouting = \"sticky\"\n"),
                 "s.toml:9: policies.routing: \"sticky\" needs sessions, and this trace has none");
}

TEST_F(bad_input, routers_that_there_cannot_be) {
  expect_refused(run_rows(row, "[routers]\ncount = 0\n"),
                 "s.toml:9: routers.count: must be 1 to 1024, found 0");
  expect_refused(run_rows(row, "[routers]\ndelay = 3\n"), "s.toml:9: routers.delay");
  expect_refused(run_rows(row, "[routers]\npol = \"1s\"\n"), "did you mean \"routers.poll\"");
}

TEST_F(bad_input, capacity_of_zero) {
  expect_refused(run_rows(row, "[tiers.gpu]\nblocks = 0\n"),
                 "s.toml:9: tiers.gpu.blocks: must be at least 1, found 0");
}

TEST_F(bad_input, tier_larger_than_the_gpu) {
  expect_refused(run_rows(row, "[tiers.gpu]\nblocks = 1000000\n"),
                 "s.toml:9: tiers.gpu.blocks: 1,000,000 blocks of 512 tokens do not fit: h100-sxm "
                 "holds at most [0-9,]+ beside llama-3-8b");
}

TEST_F(bad_input, tier_larger_than_the_gpu_is_only_a_warning_for_serial_counts) {
  write("trace.jsonl", row);
  finished_program program =
      run({"run", write("s.toml",
                        "[workload]\nserial = true\nformat = \"mooncake\"\npath = \"trace.jsonl\"\n"
                        "[model]\nname = \"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n"
                        "[tiers.gpu]\nblocks = 1000000\n")});
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_NE(program.err.find("this serial run is for its counts only"), std::string::npos);
}

TEST_F(bad_input, unknown_and_misspelt_keys) {
  expect_refused(run_rows(row, "[tiers.disk]\ncapacity = \"1GiB\"\n"),
                 "s.toml:8: unknown key \"tiers.disk\"");
  expect_refused(run_rows(row, "[policies]\nevictoin = \"lru\"\n"),
                 "s.toml:9: unknown key \"policies.evictoin\"; did you mean \"policies.eviction\"");
}

TEST_F(bad_input, prefill_and_decode_that_cannot_be_apart) {
  refused("disaggregation.prefill_gpus=1", "at least one group must decode");
  refused("disaggregation.bandwidth=1GB/s", "is set, but not disaggregation.prefill_gpus");
}

TEST_F(bad_input, tables_and_contenders_that_are_set_as_if_they_were_keys) {
  refused("policies={}", "\"policies\" is a table; set its keys one by one, such as policies.");
  refused("contender=3", "write contender.NAME.KEY=VALUE");
  refused("contender.lru=3", "is a contender; set one of its keys: contender.lru.KEY=VALUE");
  refused("seed=1.0", "expected an integer, found 1.0");
  refused("hardware.gpu=h100", "did you mean \"h100-sxm\"?");
  refused("policies.eviction={name=\"slru\",protected_hits=2,protected_hits=3}", "protected_hits");
}

TEST_F(bad_input, unknown_model_and_profile) {
  write("trace.jsonl", row);
  std::string scenario = write("s.toml",
                               "[workload]\nformat = \"mooncake\"\npath = \"trace.jsonl\"\n"
                               "[model]\nname = \"llama-3-9b\"\n[hardware]\ngpu = \"h100-sxm\"\n");
  expect_refused(run({"run", scenario}), "s.toml:5: model.name: unknown .*\"llama-3-8b\"");
  expect_refused(
      run({"run", scenario, "--set", "model.name=llama-3-8b", "--set", "hardware.gpu=h100-sx"}),
      "--set hardware.gpu: unknown .*\"h100-sxm\"");
  expect_refused(run({"run", scenario, "--set", "model.name=llama-3-8b", "--set",
                      "hardware.count=3", "--set", "hardware.tensor_parallel=2"}),
                 "--set hardware.count: 3 GPUs cannot be split into groups");
  expect_refused(run({"run", scenario, "--set", "workload.format=oracle_general", "--set",
                      "model.name=llama-3-8b"}),
                 "trace.jsonl");
}

TEST_F(bad_input, tensor_parallelism_that_the_profile_does_not_know) {
  expect_refused(run({"run", source("scenarios/quickstart.toml"), "--set", "hardware.count=2",
                      "--set", "hardware.tensor_parallel=2"}),
                 "--set hardware.tensor_parallel: rtx-4090 has no all-reduce times for 2 GPUs");
}

TEST_F(bad_input, a_block_that_no_gpu_holds) {
  expect_refused(run({"run", source("scenarios/quickstart.toml"), "--set",
                      "kv.block_tokens=1000000", "--set", "tiers.gpu.blocks=1"}),
                 "--set kv.block_tokens: rtx-4090 does not hold one block of 1,000,000 tokens");
}

TEST_F(bad_input, object_traces_cannot_be_run) {
  std::string record(24, '\0');
  record[4] = 7;
  record[12] = 1;
  write("objects.bin", record + record);
  write("s.toml",
        "[workload]\nformat = \"oracle_general\"\npath = \"objects.bin\"\n"
        "[model]\nname = \"llama-3-8b\"\n[hardware]\ngpu = \"h100-sxm\"\n");
  expect_refused(run({"run", "s.toml"}),
                 "s.toml:2: workload.format: oracle_general gives no token lengths");
}

TEST_F(bad_input, keys_that_the_workload_does_not_read) {
  write("s.toml", "[workload]\nformat = \"generator\"\npath = \"t\"\n");
  expect_refused(run({"run", "s.toml"}), "s.toml:3: workload.path: means nothing with");
  write("s.toml", "[workload]\nformat = \"mooncake\"\npath = \"t\"\ngenerator.requests = 5\n");
  expect_refused(run({"run", "s.toml"}),
                 "s.toml:4: workload.generator.requests: means nothing with");
  write("s.toml", "[workload]\nformat = \"generator\"\ngenerator.documents = 2\n");
  expect_refused(run({"run", "s.toml"}),
                 "s.toml:3: workload.generator.documents_per_turn|"
                 "workload.generator.documents_per_turn: must be");
}

TEST_F(bad_input, bad_usage) {
  std::string scenario = source("scenarios/quickstart.toml");
  expect_refused(run({"run"}), "run: SCENARIO is missing; usage: refrain run SCENARIO");
  expect_refused(run({"run", scenario, "--ste", "seed=1"}),
                 "run: unknown option \"--ste\"; did you mean \"--set\"");
  expect_refused(run({"run", scenario, "--jobs", "0"}), "--jobs: expected a whole number");
  expect_refused(run({"run", scenario, "--jobs"}), "jobs");
  expect_refused(run({"run", scenario, scenario}), "too many words");
  expect_refused(run({"run", scenario, "--only", "lruu"}),
                 "--only: unknown contender \"lruu\"; did you mean \"lru\"");
  expect_refused(run({"run", scenario, "-o", "absent/x.h5"}), "-o absent/x.h5: there is no folder");
  expect_refused(run({"rnu"}), "unknown command \"rnu\"; did you mean \"run\"");
  expect_refused(run({"replay"}), "--trace is missing");
  expect_refused(run({"policies", "evicton"}), "unknown kind \"evicton\"");
  expect_refused(run({"show"}), "FILE.h5 is missing");
  expect_refused(run({"show", "absent.h5"}), "absent.h5");
}

TEST_F(bad_input, replay_refuses_what_it_cannot_replay) {
  write("trace.jsonl", row);
  auto replay = [&](const std::string& trace, const std::string& policy,
                    const std::string& capacity) {
    return run({"replay", "--trace", trace, "--policy", policy, "--capacity", capacity});
  };
  expect_refused(replay("mooncake:absent", "lru", "1"), "absent");
  expect_refused(replay("mooncak:trace.jsonl", "lru", "1"), "did you mean \"mooncake\"");
  expect_refused(replay("trace.jsonl", "lru", "1"), "expected FORMAT:PATH");
  expect_refused(replay("mooncake:trace.jsonl", "lru2", "1"), "did you mean \"lru\"");
  expect_refused(replay("mooncake:trace.jsonl", "lru:ordre=front", "1"), "did you mean \"order\"");
  expect_refused(replay("mooncake:trace.jsonl", "lru:order", "1"), "expected NAME:PARAMETER=VALUE");
  expect_refused(replay("mooncake:trace.jsonl", "lru", "0"), "--capacity 0: expected");
  expect_refused(replay("mooncake:trace.jsonl", "lru", "1,"), "--capacity : expected");
  expect_refused(replay("mooncake:trace.jsonl", "lru", "1%"), "is none of the 2 that there are");
  expect_refused(replay("mooncake:trace.jsonl", "t_lru", "1"), "sessions");
  expect_refused(run({"replay", "--trace", "mooncake:trace.jsonl", "--policy", "lru", "--capacity",
                      "1", "--rule", "prefx"}),
                 "unknown rule \"prefx\"; did you mean \"prefix\"");
}

}  // namespace
}  // namespace refrain
