// Admission in whole runs: on the GPU and in a tier, per contender, and refused where it cannot
// work.
#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

class admission_run : public program_test {
 protected:
  std::string requests_ =
      refrain_debug_checks ? "workload.generator.requests=80" : "workload.generator.requests=400";

  std::string scenario(const std::string& name, const std::string& contenders) const {
    return write(name, R"(
[workload]
format = "generator"
[model]
name = "llama-3-8b"
[hardware]
gpu = "h100-sxm"
[tiers.gpu]
blocks = 2000
)" + contenders);
  }
  double hit_tokens(const finished_program& program, const std::string& contender) const {
    nlohmann::json document = program.json();
    for (const nlohmann::json& each : document.at("contenders")) {
      if (each.at("name") == contender) {
        return each.at("metrics").at("hit_tokens").at("value");
      }
    }
    return -1;
  }
};

TEST_F(admission_run, refuses_what_was_not_seen_and_what_lies_deep) {
  std::string file = scenario("gpu.toml", R"(
[[contender]]
name = "all"
[[contender]]
name = "none"
policies.admission = { name = "depth_cap", blocks = 0 }
[[contender]]
name = "second"
policies.admission = { name = "second_sight", history = "kept" }
[[contender]]
name = "frequent"
policies.admission = "tiny_lfu"
[[contender]]
name = "third"
policies.admission = "share_cap"
[[contender]]
name = "sized"
policies.admission = "size_cap"
)");
  finished_program program = run({"run", file, "--set", requests_, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_EQ(hit_tokens(program, "none"), 0);
  EXPECT_EQ(hit_tokens(program, "sized"), hit_tokens(program, "all"));
  for (const char* name : {"second", "frequent", "third"}) {
    EXPECT_GT(hit_tokens(program, name), 0) << name;
  }
  EXPECT_LT(hit_tokens(program, "second"), hit_tokens(program, "all"));
  EXPECT_LT(hit_tokens(program, "third"), hit_tokens(program, "all"));
  EXPECT_EQ(program.json().at("contenders").at(2).at("policies").at("admission").at("name"),
            "second_sight");
}

TEST_F(admission_run, of_a_tier_is_its_own) {
  std::string file = scenario("tier.toml", R"(
[tiers.host]
capacity = "4GiB"
[[contender]]
name = "all"
[[contender]]
name = "second"
tiers.host.policies.admission = "second_sight"
[[contender]]
name = "frequent"
tiers.host.policies.admission = "tiny_lfu"
[[contender]]
name = "capped"
tiers.host.policies.admission = { name = "share_cap", share = 0 }
)");
  finished_program program = run({"run", file, "--set", requests_, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_GE(hit_tokens(program, "all"), hit_tokens(program, "second"));
  nlohmann::json document = program.json();
  for (const nlohmann::json& each : document.at("contenders")) {
    if (each.at("name") == "capped") {
      EXPECT_EQ(each.at("metrics").at("hit_tokens_host").at("value"), 0);
    }
  }
}

TEST_F(admission_run, that_needs_what_a_tier_or_a_run_does_not_know_is_refused) {
  std::string file = scenario("bad.toml", "[tiers.host]\ncapacity = \"1GiB\"\n");
  finished_program program = run({"run", file, "--set", "tiers.host.policies.admission=depth_cap"});
  EXPECT_EQ(program.status, 2);
  EXPECT_NE(program.err.find("places in a chain"), std::string::npos) << program.err;
  program = run({"run", file, "--set", "policies.admission=second_sihgt"});
  EXPECT_EQ(program.status, 2);
  EXPECT_NE(program.err.find("second_sight"), std::string::npos) << program.err;
  program = run({"run", file, "--set", "policies.eviction=retention", "--set",
                 "tiers.host.policies.eviction=lru"});
  EXPECT_EQ(program.status, 2);
  EXPECT_NE(program.err.find("retention hints"), std::string::npos) << program.err;
}

TEST_F(admission_run, policies_that_weigh_costs_are_told_them) {
  std::string file = scenario("costs.toml", R"(
[[contender]]
name = "pgdsf"
policies.eviction = "pgdsf"
[[contender]]
name = "cost_aware"
policies.eviction = "cost_aware"
[[contender]]
name = "lirs"
policies.eviction = "lirs"
[[contender]]
name = "w_tinylfu"
policies.eviction = "w_tinylfu"
)");
  finished_program program = run({"run", file, "--set", requests_, "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  for (const char* name : {"pgdsf", "cost_aware", "lirs", "w_tinylfu"}) {
    EXPECT_GT(hit_tokens(program, name), 0) << name;
  }
}

}  // namespace
}  // namespace refrain
