// Policies that are told more of a request than its prompt: how long it wants to be kept, which
// agents of its workflow come next, which turn it is. A trace says so in the format "refrain". A
// run one request after the other finds nearly what replay finds: it pins the blocks in use.
#include "tests/scenarios/program.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

class told : public program_test {
 protected:
  void SetUp() override {
    program_test::SetUp();
    random_stream random{1, "notes"};
    std::string text = header(R"("hints":true,"steps":true,)");
    for (int r = 0; r < 300; ++r) {
      std::uint64_t family = random.below(12);
      text += R"({"arrival_ns":)" + std::to_string(r + 1) +
              R"(000000000,"input":64,"output":1,"blocks":[)";
      for (std::uint64_t i = 0; i < 4; ++i) {
        text += std::to_string(100 * family + i) + (i < 3 ? "," : "],");
      }
      text += R"("priority":)" + std::to_string(family % 3 * 40) + R"(,"retain_ns":)" +
              std::to_string(family % 2 * 20'000'000'000) + R"(,"agent":)" +
              std::to_string(family) + R"(,"upcoming":[[)" + std::to_string((family + 1) % 12) +
              ",1],[" + std::to_string((family + 5) % 12) + ",3]]}\n";
    }
    write("told.jsonl", text);
  }

  static std::string header(const std::string& more) {
    return R"({"format":"refrain","version":1,"block_tokens":16,"id_scope":"trace",)" +
           (R"("chains":true,)" + more) + R"("lengths":true})" + "\n";
  }
  std::string scenario(const std::string& trace) const {
    return write("s.toml", "[workload]\nformat = \"refrain\"\npath = \"" + trace +
                               "\"\nserial = true\n[model]\nname = \"llama-3-8b\"\n[hardware]\ngpu "
                               "= \"h100-sxm\"\n[tiers.gpu]\nblocks = 24\n[[contender]]\nname = "
                               "\"one\"\n");
  }
  std::int64_t replayed(const std::string& policy) {
    finished_program program = run({"replay", "--trace", "refrain:told.jsonl", "--policy", policy,
                                    "--capacity", "24", "--no-bounds", "--json"});
    EXPECT_EQ(program.status, 0) << program.err;
    return program.json().at(0).at("hits");
  }
  std::int64_t ran(const std::string& policy) {
    finished_program program = run({"run", scenario("told.jsonl"), "-o", policy + ".h5", "--set",
                                    "policies.eviction=" + policy, "--json"});
    EXPECT_EQ(program.status, 0) << program.err;
    return program.json().at("contenders")[0].at("metrics").at("hit_blocks").at("value");
  }
};

TEST_F(told, policies_act_on_it_in_a_replay_and_in_a_run_alike) {
  std::int64_t plain = replayed("lru");
  std::int64_t plain_run = ran("lru");
  for (const char* policy : {"retention", "kvflow"}) {
    SCOPED_TRACE(policy);
    std::int64_t hits = replayed(policy);
    EXPECT_GT(hits, 0);
    EXPECT_NE(hits, plain);
    std::int64_t run_hits = ran(policy);
    EXPECT_NE(run_hits, plain_run);
    EXPECT_NEAR(static_cast<double>(run_hits), static_cast<double>(hits),
                0.02 * static_cast<double>(hits));
  }
}

TEST_F(told, nothing_stops_the_run_with_that_reason) {
  write("plain.jsonl", header("") + R"({"input":16,"output":1,"blocks":[1]})" + "\n");
  std::string file = scenario("plain.jsonl");
  for (auto [policy, reason] : {std::pair{"retention", "retention hints"},
                                {"kvflow", "the step graph of a workflow"},
                                {"workload_aware", "sessions"},
                                {"t_lru", "sessions"}}) {
    finished_program program =
        run({"run", file, "--set", std::string{"policies.eviction="} + policy});
    EXPECT_EQ(program.status, 2);
    EXPECT_NE(program.err.find(std::string{"\""} + policy + "\" needs " + reason),
              std::string::npos)
        << program.err;
    finished_program replay =
        run({"replay", "--trace", "refrain:plain.jsonl", "--policy", policy, "--capacity", "4"});
    EXPECT_EQ(replay.status, 2);
  }
}

TEST_F(told, wrongly_is_a_bad_row) {
  for (auto [row, reason] : {std::pair{R"("priority":101)", "\"priority\" is not 0 to 100"},
                             {R"("retain_ns":-1)", "\"retain_ns\" is negative"},
                             {R"("agent":4294967296)", "\"agent\" is above 2^32 - 1"},
                             {R"("upcoming":[[1]])", "not [AGENT, STEPS]"},
                             {R"("upcoming":[[1,2,3]])", "not [AGENT, STEPS]"},
                             {R"("upcoming":[1])", "not [AGENT, STEPS]"}}) {
    write("bad.jsonl", header(R"("hints":true,"steps":true,)") +
                           R"({"input":16,"output":1,"blocks":[1],)" + row + "}\n");
    finished_program program = run({"traces", "refrain:bad.jsonl"});
    EXPECT_NE((program.out + program.err).find(reason), std::string::npos)
        << program.out << program.err;
  }
  write("bad.jsonl", header("") + R"({"input":16,"output":1,"blocks":[1],"priority":1})" + "\n");
  finished_program program = run({"traces", "refrain:bad.jsonl"});
  EXPECT_NE((program.out + program.err).find("header does not say \"hints\""), std::string::npos)
      << program.out << program.err;
}

}  // namespace
}  // namespace refrain
