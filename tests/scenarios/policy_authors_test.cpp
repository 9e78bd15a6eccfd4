// What somebody who writes a policy meets: `new`, `check`, and how plug-ins are named. Plug-ins
// themselves are built and run in tests/package.
#include <cstdlib>

#include "tests/scenarios/program.hpp"

namespace refrain {
namespace {

class policy_authors : public program_test {
 protected:
  void expect_refused(const std::vector<std::string>& words, const std::string& text) const {
    finished_program program = run(words);
    EXPECT_EQ(program.status, 2) << program.err;
    EXPECT_EQ(program.error_lines(), 1) << program.err;
    EXPECT_NE(program.err.find(text), std::string::npos) << program.err;
    EXPECT_EQ(program.out, "");
  }
};

TEST_F(policy_authors, get_a_file_that_is_formatted_whatever_its_name) {
  for (std::size_t letters : {1, 9, 17, 25, 32}) {
    std::string name(letters, 'x');
    finished_program program = run({"new", "policy", "eviction", name});
    ASSERT_EQ(program.status, 0) << program.err;
    EXPECT_TRUE(program.out.starts_with("wrote " + name + ".cpp\n")) << program.out;
    std::string text = read(name + ".cpp");
    EXPECT_NE(text.find("class " + name + "_eviction final : public eviction"), std::string::npos);
    EXPECT_EQ(text.find('@'), std::string::npos);
    std::string command = "clang-format --style=file:" + source(".clang-format") +
                          " --dry-run -Werror " + (folder_ / (name + ".cpp")).string();
    EXPECT_EQ(std::system(command.c_str()), 0) << name;
  }
}

TEST_F(policy_authors, never_lose_a_file_to_a_new_one) {
  write("mine.cpp", "precious");
  expect_refused({"new", "policy", "eviction", "mine"}, "mine.cpp: exists already");
  EXPECT_EQ(read("mine.cpp"), "precious");
  EXPECT_EQ(run({"new", "policy", "eviction", "mine", "-o", "other.cpp"}).status, 0);
  EXPECT_TRUE(exists("other.cpp"));
  expect_refused({"new", "policy", "eviction", "mine", "-o", "no/such/folder.cpp"},
                 "cannot be written: No such file or directory");
}

TEST_F(policy_authors, get_the_file_where_a_checkout_has_its_policies) {
  std::filesystem::create_directories(folder_ / "policies" / "eviction");
  write("policies/eviction.hpp", "");
  write("dev", "");
  finished_program program = run({"new", "policy", "eviction", "mine"});
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_TRUE(exists("policies/eviction/mine.cpp"));
  EXPECT_NE(program.out.find("./dev refrain check mine"), std::string::npos) << program.out;
}

TEST_F(policy_authors, are_told_which_names_and_kinds_there_are) {
  for (const char* name : {"Mine", "2mine", "mine-too", "mine_", "x:y", ""}) {
    expect_refused({"new", "policy", "eviction", name}, "expected a name in snake_case");
  }
  expect_refused({"new", "policy", "eviction", std::string(33, 'x')}, "at most 32 letters");
  expect_refused({"new", "policy", "eviction", "sieve"}, "the name is taken: evicts the oldest");
  expect_refused({"new", "policy", "eviction", "min_bypass"}, "the name is taken: ");
  expect_refused({"new", "policy", "evicton", "mine"}, "did you mean \"eviction\"?");
  expect_refused({"new", "policy", "routing", "mine"}, "policies/routing/cost_based.cpp");
  expect_refused({"new", "polcy", "eviction", "mine"}, "did you mean \"policy\"?");
  expect_refused({"new", "policy", "eviction"}, "NAME is missing; usage: refrain new policy");
  EXPECT_FALSE(exists("mine.cpp"));
}

TEST_F(policy_authors, see_one_line_for_each_check) {
  finished_program program = run({"check", "lru:order=front", "--seed", "7"});
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_TRUE(program.out.starts_with("lru:order=front, seed 7\n\n")) << program.out;
  for (const char* name :
       {"declaration", "random_operations", "tiny_caches", "same_seed_same_choices",
        "compulsory_misses", "bound_flat", "bound_chains", "bound_sizes", "same_counts"}) {
    EXPECT_NE(program.out.find(std::string{"\n  pass  "} + name + " "), std::string::npos)
        << name << "\n"
        << program.out;
  }
  EXPECT_NE(program.out.find(" ns per access in replay"), std::string::npos) << program.out;
}

TEST_F(policy_authors, get_the_checks_as_a_document) {
  nlohmann::json document = run({"check", "ttl", "--json"}).json();
  EXPECT_EQ(document.at("policy"), "ttl");
  EXPECT_EQ(document.at("plugin"), nullptr);
  EXPECT_EQ(document.at("seed"), 1);
  EXPECT_EQ(document.at("passed"), true);
  EXPECT_GT(document.at("nanoseconds_per_access"), 0);
  EXPECT_EQ(document.at("checks").size(), 10u);
  for (const nlohmann::json& check : document.at("checks")) {
    EXPECT_NE(check.at("outcome"), "fail") << check;
    EXPECT_FALSE(check.at("reason").get<std::string>().empty()) << check;
  }
}

TEST_F(policy_authors, are_told_what_can_be_checked) {
  expect_refused({"check", "sive"}, "unknown eviction policy \"sive\"; did you mean \"sieve\"?");
  expect_refused({"check", "round_robin"}, "is of kind routing; the kit checks eviction policies");
  expect_refused({"check", "lru:oder=front"}, "oder");
  expect_refused({"check", "lru", "--seed", "x"}, "--seed");
  expect_refused({"check"}, "POLICY is missing");
}

TEST_F(policy_authors, are_told_which_file_is_no_plugin) {
  write("text.so", "not a library");
  write("scenario.toml", "\nplugins = [\"text.so\"]\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"check", "lru"}, {"policies"}, {"run", "scenario.toml"}}) {
    std::vector<std::string> missing = words;
    missing.insert(missing.end(), {"--plugin", "absent.so"});
    expect_refused(missing, "--plugin: absent.so: cannot be read; expected a plug-in");
  }
  expect_refused({"policies", "--plugin", "."}, "--plugin: .: cannot be read");
  expect_refused({"policies", "--plugin", "text.so"}, "text.so: is no plug-in but some other file");
  expect_refused({"run", "scenario.toml"}, "scenario.toml:2: plugins: text.so: is no plug-in");
  write("folder_scenario.toml", "plugins = \"../x.so\"\n");
  expect_refused({"run", "folder_scenario.toml"}, "folder_scenario.toml:1: plugins: ../x.so");
  write("wrong.toml", "plugins = [1]\n");
  expect_refused({"run", "wrong.toml"}, "plugins: expected a list of paths");
  write("wrong.toml", "[[contender]]\nname = \"a\"\nplugins = [\"x.so\"]\n");
  expect_refused({"run", "wrong.toml"}, "plugins cannot differ between contenders");
}

}  // namespace
}  // namespace refrain
