// What the commands print where all is well.
#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

class commands : public program_test {};

TEST_F(commands, say_how_they_are_used) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--help"},
                                                {"run", "--help"},
                                                {"replay", "-h"},
                                                {"show", "--help"}}) {
    finished_program program = run(words);
    EXPECT_EQ(program.status, 0);
    EXPECT_TRUE(program.out.starts_with("usage: refrain ")) << program.out;
    EXPECT_EQ(program.err, "");
  }
  EXPECT_TRUE(run({"--version"}).out.starts_with("refrain "));
}

TEST_F(commands, replay_counts_what_other_programs_count) {
  std::string trace = shared("mooncake/conversation_trace.jsonl.gz");
  if (trace.empty()) {
    GTEST_SKIP() << "the conversation trace is absent";
  }
  finished_program program =
      run({"replay", "--trace", "mooncake:" + trace, "--policy", "lru", "--policy",
           "lru:order=front", "--policy", "belady", "--policy", "infinite", "--capacity",
           "1000,10000", "--capacity", "5%", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  std::vector<std::int64_t> hits, capacities;
  for (const nlohmann::json& each : program.json()) {
    hits.push_back(each.at("hits"));
    capacities.push_back(each.at("capacity"));
    EXPECT_EQ(each.at("rule"), "prefix");
    EXPECT_EQ(each.at("requests"), 12031);
    EXPECT_EQ(each.at("accesses"), 288500);
    EXPECT_EQ(each.at("misses"), 288500 - hits.back());
    for (const char* field : {"policy", "hit_rate", "missed_size", "token_hit_rate", "seconds",
                              "read_seconds", "accesses_per_second", "peak_bytes"}) {
      EXPECT_TRUE(each.contains(field)) << field;
    }
  }
  EXPECT_EQ(hits, (std::vector<std::int64_t>{12847, 61046, 56479, 12831, 60921, 56382, 51705,
                                             105710, 105710, 105710, 105710, 105710}));
  EXPECT_EQ(capacities[2], 9139);
}

TEST_F(commands, replay_prints_policies_as_rows_and_capacities_as_columns) {
  write("trace.jsonl",
        R"({"timestamp": 0, "input_length": 1024, "output_length": 4, "hash_ids": [1, 2]})"
        "\n"
        R"({"timestamp": 1, "input_length": 1024, "output_length": 4, "hash_ids": [1, 2]})"
        "\n");
  finished_program program = run({"replay", "--trace", "mooncake:trace.jsonl", "--policy", "lru",
                                  "--policy", "fifo", "--capacity", "1,2"});
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(program.out,
            "2 requests, 4 accesses to 2 blocks, rule prefix: hit rate and hits\n\n"
            "capacity                           1                     2\n"
            "lru               25.00%           1    50.00%           2\n"
            "fifo              25.00%           1    50.00%           2\n"
            "belady_bypass     25.00%           1    50.00%           2  (the bound)\n\n"
            "share of the headroom between lru and belady_bypass\n"
            "lru                                -                     -\n"
            "fifo                               -                     -\n");
}

TEST_F(commands, replay_shows_the_bound_and_what_each_policy_has_of_the_headroom) {
  std::string trace = shared("mooncake/synthetic_trace.jsonl.gz");
  if (trace.empty()) {
    GTEST_SKIP() << "the synthetic trace is absent";
  }
  finished_program program = run({"replay", "--trace", "mooncake:" + trace, "--policy", "lru",
                                  "--policy", "lru+second_sight:history=kept", "--policy",
                                  "belady_bypass", "--capacity", "1000", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json all = program.json();
  for (const nlohmann::json& each : all) {
    EXPECT_EQ(each.at("bound"), "belady_bypass");
    EXPECT_EQ(each.at("bound_hits"), 33728);
    EXPECT_EQ(each.at("bound_is_relaxed"), false);
    EXPECT_EQ(each.at("baseline_hits"), 10252);
    double hits = each.at("hits");
    EXPECT_DOUBLE_EQ(each.at("headroom_captured"), (hits - 10252) / (33728 - 10252));
  }
  EXPECT_NEAR(all.at(1).at("hit_rate").get<double>(), .090, .0005);
  EXPECT_EQ(all.at(2).at("headroom_captured"), 1.0);
}

TEST_F(commands, replay_takes_shares_of_sizes_where_objects_have_sizes) {
  std::string bytes;
  for (char id : {'\1', '\2', '\3', '\1', '\2', '\3'}) {
    std::string record(24, '\0');
    record[4] = id;
    record[12] = '\12';
    bytes += record;
  }
  write("objects.bin", bytes);
  std::vector<std::string> words = {
      "replay", "--trace", "oracle_general:objects.bin", "--policy", "lru", "--capacity", "100%"};
  EXPECT_NE(run(words).out.find("6 accesses to 3 objects of 30 units of size in all"),
            std::string::npos);
  words.emplace_back("--json");
  nlohmann::json all = run(words).json();
  EXPECT_EQ(all.at(0).at("capacity"), 30);
  EXPECT_EQ(all.at(0).at("hits"), 3);
}

TEST_F(commands, replay_of_objects_of_one_size_has_the_exact_bound) {
  for (char second_size : {'\1', '\2'}) {
    std::string bytes;
    for (char id : {'\1', '\2', '\3', '\1', '\2', '\3', '\1'}) {
      std::string record(24, '\0');
      record[4] = id;
      record[12] = id == 2 ? second_size : char{1};
      bytes += record;
    }
    write("objects.bin", bytes);
    finished_program program = run({"replay", "--trace", "oracle_general:objects.bin", "--policy",
                                    "lru", "--capacity", "2", "--json"});
    ASSERT_EQ(program.status, 0) << program.err;
    nlohmann::json all = program.json();
    bool equal = second_size == 1;
    EXPECT_EQ(all.at(0).at("bound"), equal ? "min_bypass" : "volume");
    EXPECT_EQ(all.at(0).at("bound_is_relaxed"), !equal);
    EXPECT_EQ(all.at(0).at("missed_size"), equal ? 7 : 9);
  }
}

TEST_F(commands, replay_gives_a_curve_of_any_policy_in_one_call) {
  std::string trace = shared("mooncake/synthetic_trace.jsonl.gz");
  if (trace.empty()) {
    GTEST_SKIP() << "the synthetic trace is absent";
  }
  finished_program program = run({"replay", "--trace", "mooncake:" + trace, "--policy", "lru",
                                  "--policy", "fifo", "--curve", "--points", "5", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  nlohmann::json all = program.json();
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(all.at(0).at("capacity"), 1);
  EXPECT_EQ(all.at(4).at("capacity"), 43924);
  EXPECT_EQ(all.at(4).at("hits"), 77953);
  EXPECT_EQ(all.at(9).at("hits"), 77953);
  program = run({"replay", "--trace", "mooncake:" + trace, "--policy", "lru", "--curve",
                 "--capacity", "1000,10000", "--json"});
  EXPECT_EQ(program.json().at(0).at("hits"), 10252);
  EXPECT_EQ(program.json().at(1).at("hits"), 51669);
}

TEST_F(commands, replay_prints_the_bound_beside_each_point_of_a_curve) {
  std::string trace = shared("mooncake/synthetic_trace.jsonl.gz");
  if (trace.empty()) {
    GTEST_SKIP() << "the synthetic trace is absent";
  }
  std::vector<std::string> words = {"replay", "--trace", "mooncake:" + trace, "--policy",
                                    "fifo",   "--curve", "--capacity",        "1000,10000"};
  std::string table = run(words).out;
  EXPECT_NE(table.find("belady_bypass"), std::string::npos);
  EXPECT_NE(table.find("33,728"), std::string::npos);
  words.push_back("--json");
  nlohmann::json all = run(words).json();
  EXPECT_EQ(all.at(0).at("bound_hits"), 33728);
  EXPECT_EQ(all.at(1).at("bound_hits"), 75316);
  EXPECT_EQ(all.at(0).at("baseline_hits"), 10252);
  EXPECT_EQ(all.at(1).at("baseline_hits"), 51669);
  double hits = all.at(1).at("hits");
  EXPECT_DOUBLE_EQ(all.at(1).at("headroom_captured"), (hits - 51669) / (75316 - 51669));
  finished_program many = run({"replay", "--trace", "mooncake:" + trace, "--policy", "lru",
                               "--curve", "--points", "200", "--json"});
  EXPECT_FALSE(many.json().at(0).contains("bound_hits"));
  EXPECT_NE(many.err.find("no bounds: each takes a replay"), std::string::npos);
}

TEST_F(commands, policies_lists_each_kind_with_parameters_and_source) {
  finished_program program = run({"policies", "--json"});
  ASSERT_EQ(program.status, 0);
  std::map<std::string, int> kinds;
  for (const nlohmann::json& each : program.json()) {
    ++kinds[each.at("kind").get<std::string>()];
    EXPECT_NE(each.at("source"), "");
    if (each.at("name") == "cost_based") {
      EXPECT_EQ(each.at("needs"), (nlohmann::json{"matches", "progress"}));
    }
    if (each.at("name") == "look_ahead_lru") {
      EXPECT_EQ(each.at("needs"), nlohmann::json{"queue"});
      EXPECT_EQ(each.at("parameters")[0].at("name"), "window");
      EXPECT_EQ(each.at("parameters")[0].at("default"), 128);
    }
  }
  EXPECT_GE(kinds["eviction"], 6);
  EXPECT_GE(kinds["bound"], 5);
  EXPECT_GE(kinds["reuse"], 6);
  EXPECT_GE(kinds["routing"], 5);
  finished_program text = run({"policies", "eviction"});
  EXPECT_NE(text.out.find("look_ahead_lru"), std::string::npos);
  EXPECT_EQ(text.out.find("round_robin"), std::string::npos);
}

}  // namespace
}  // namespace refrain
