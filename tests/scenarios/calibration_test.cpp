// The cost model fitted to this machine and set against real runs, through the command line.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "gpu/profile.hpp"
#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

/// A user's cache folder of the test's own.
class a_machine : public program_test {
 protected:
  a_machine() { setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
  ~a_machine() override { unsetenv("XDG_CACHE_HOME"); }
};

TEST_F(a_machine, that_was_not_measured_has_no_profile) {
  finished_program refused = run({"validate", source("scenarios/validate_cpu.toml")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("this machine has not been measured yet; refrain calibrate writes " +
                             folder_.string() + "/refrain/this-machine.toml"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(refused.error_lines(), 1);
}

TEST_F(a_machine, is_measured_and_set_against_real_runs) {
  if (refrain_debug_checks) {
    GTEST_SKIP() << "computes thousands of batches; release builds do it";
  }
  finished_program measured = run({"calibrate", "--json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  nlohmann::json document = measured.json();
  EXPECT_GT(document.at("batches"), 100);
  hardware_profile profile = load_profile(document.at("profile").get<std::string>());
  EXPECT_EQ(profile.stack, "refrain's CPU engine, fp32, builtin:tiny");
  EXPECT_EQ(profile.prefill_attention.tile_rows, 1);
  EXPECT_GT(profile.gemm.rate_flop_per_s, 1e9);
  EXPECT_TRUE(exists("refrain/this-machine.toml"));

  finished_program compared = run({"validate", source("scenarios/validate_cpu.toml"), "--json",
                                   "--only", "lru", "--set", "workload.generator.requests=40"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  EXPECT_EQ(compared.err, "");
  nlohmann::json rows = compared.json();
  ASSERT_EQ(rows.size(), 12u);  // three metrics: mean, p50, p99 and by request
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row.at("contender"), "lru");
    EXPECT_TRUE(row.at("error").is_number());
    EXPECT_TRUE(row.at("noise").is_number());
    bool is_bounded = row.at("metric") != "tpot_s" &&
                      (row.at("statistic") == "p50" || row.at("statistic") == "p99");
    EXPECT_EQ(row.at("bound").is_number(), is_bounded);
  }
  finished_program warned =
      run({"validate", source("scenarios/validate_cpu.toml"), "--only", "lru", "--set",
           "workload.generator.requests=5", "--set", "execution.precision=fp32_fast"});
  ASSERT_EQ(warned.status, 0) << warned.err;
  EXPECT_NE(warned.err.find("hardware.gpu was measured with"), std::string::npos) << warned.err;
}

TEST_F(a_machine, is_not_measured_with_what_is_not_there) {
  EXPECT_EQ(run({"calibrate", "--precision", "fp64"}).status, 2);
  EXPECT_EQ(run({"calibrate", "--model", "no.gguf"}).status, 2);
  EXPECT_EQ(run({"calibrate", "-o", "profile.txt"}).status, 2);
  finished_program refused = run({"calibrate", "-o", "no/profile.toml"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("no/profile.toml: cannot be written"), std::string::npos);
  EXPECT_FALSE(exists("refrain"));
}

TEST_F(a_machine, that_loses_its_terminal_in_the_middle_keeps_no_folder) {
  std::filesystem::create_directory(folder_ / "tmp");
  setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  pid_t process =
      start({"validate", source("scenarios/validate_cpu.toml"), "--set", "hardware.gpu=rtx-4090"});
  while (std::filesystem::is_empty(folder_ / "tmp")) {
    usleep(1000);
  }
  kill(process, SIGHUP);
  EXPECT_EQ(wait(process).status, 130);
  unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
}

TEST(profile_text, is_read_back_as_it_was) {
  hardware_profile profile = load_profile("rtx-4090");
  profile.prefill_attention.tile_rows = 16;
  std::string path = testing::TempDir() + "profile_text_test.toml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::string text = profile_text(profile, "a comment");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  hardware_profile again = load_profile(path);
  std::remove(path.c_str());
  EXPECT_EQ(profile_text(again, "a comment"), text);
  EXPECT_NEAR(again.gemm.rate_flop_per_s / profile.gemm.rate_flop_per_s, 1, 1e-6);
  EXPECT_EQ(again.memory, profile.memory);
}

}  // namespace
}  // namespace refrain
