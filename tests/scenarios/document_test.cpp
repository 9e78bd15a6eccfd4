// Keys and values of a scenario: what is accepted, and the words of what is not.
#include "scenarios/document.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace refrain {
namespace {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_text(const std::string& text) {
  return error_of([&] { scenario_document("s.toml", text); });
}

std::string error_of_set(const std::string& text, const std::string& assignment) {
  return error_of([&] { scenario_document("s.toml", text).set(assignment); });
}

const char* two_contenders = R"(
[tiers.gpu]
share = "80%"
[[contender]]
name = "none"
policies.reuse = "none"
[[contender]]
name = "big cache"
tiers.gpu.blocks = 5000
)";

TEST(schema, has_a_default_that_its_own_rule_accepts_for_every_key) {
  scenario_settings defaults = scenario_settings::defaults();
  EXPECT_EQ(defaults.text("policies.reuse"), "prefix");
  EXPECT_EQ(defaults.text("policies.eviction"), "lru");
  EXPECT_EQ(defaults.text("policies.batching"), "fcfs");
  EXPECT_EQ(defaults.text("policies.routing"), "round_robin");
  EXPECT_EQ(defaults.number("tiers.gpu.share"), 0.9);
  EXPECT_EQ(defaults.integer("hardware.count"), 1);
  EXPECT_EQ(defaults.integer("hardware.tensor_parallel"), 1);
  EXPECT_EQ(defaults.time("hardware.host_overhead"), sim_time{0});
  EXPECT_EQ(defaults.integer("seed"), 0);
  EXPECT_FALSE(defaults.has("tiers.gpu.blocks"));
}

TEST(schema, does_not_let_contenders_differ_in_workload_or_seed) {
  for (const setting_rule& rule : scenario_schema()) {
    if (rule.key == "seed" || rule.key.starts_with("workload.")) {
      EXPECT_FALSE(rule.per_contender) << rule.key;
    }
  }
}

TEST(document, names_file_line_and_nearest_name_of_an_unknown_key) {
  EXPECT_EQ(error_of_text("[workload]\nformat = \"mooncake\"\nspeeed = 2.0\n"),
            "s.toml:3: unknown key \"workload.speeed\"; did you mean \"workload.speed\"?");
  EXPECT_EQ(error_of_text("[tiers.hosd]\ncapacity = \"256GiB\"\n"),
            "s.toml:1: unknown key \"tiers.hosd\"; did you mean \"tiers.host\"?");
  EXPECT_EQ(
      error_of_text("[tiers.host]\ncapacity = 256\n"),
      "s.toml:2: tiers.host.capacity: \"256\" is not a size such as \"256GiB\" (B, kB, MB, GB, "
      "TB, KiB, MiB, GiB, TiB)");
  EXPECT_EQ(error_of_text("[execution]\n\nengine = \"cuda\"\n"),
            "s.toml:3: execution.engine: unknown value \"cuda\"; known: cost_model cpu");
  EXPECT_EQ(error_of_text("sed = 3\n"), "s.toml:1: unknown key \"sed\"; did you mean \"seed\"?");
}

TEST(document, with_letters_that_no_key_may_hold_is_refused) {
  for (const char* text : {"\u00e9 = 1\n", "seed\u00e9 = 1\n", "seed \u00e9\n", "[\u00e9]\n"}) {
    EXPECT_EQ(error_of_text(text).find("s.toml:1: "), 0u) << text;
  }
}

TEST(document, whose_table_header_begins_with_no_key_is_refused) {
  for (const char* text : {"[!x]\n", "seed = 1\n[[\x1b]]\n", "[ \t=]\n"}) {
    EXPECT_EQ(error_of_text(text).find(text[0] == '[' ? "s.toml:1: " : "s.toml:2: "), 0u) << text;
  }
}

TEST(document, names_the_line_of_an_unknown_key_in_a_contender) {
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"a\"\npolicies.evicton = \"lru\"\n"),
            "s.toml:3: unknown key \"policies.evicton\"; did you mean \"policies.eviction\"?");
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"a\"\nworkload.speed = 2.0\n"),
            "s.toml:3: workload.speed cannot differ between contenders");
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"a\"\nseed = 2\n"),
            "s.toml:3: seed cannot differ between contenders");
}

TEST(document, says_which_type_was_expected_and_what_was_found) {
  EXPECT_EQ(error_of_text("seed = \"one\"\n"),
            "s.toml:1: seed: expected an integer, found \"one\"");
  EXPECT_EQ(error_of_text("[workload]\nspeed = true\n"),
            "s.toml:2: workload.speed: expected a number, found true");
  EXPECT_EQ(error_of_text("[workload]\nserial = 1\n"),
            "s.toml:2: workload.serial: expected true or false, found 1");
  EXPECT_EQ(error_of_text("[workload]\nspread = \"3 parsecs\"\n"),
            "s.toml:2: workload.spread: \"3 parsecs\" is not a time such as \"3s\" (ns, us, ms, s, "
            "min, h, d)");
  EXPECT_EQ(error_of_text("[workload]\npath = [1]\n"),
            "s.toml:2: workload.path: expected a path in quotes, found something else");
  EXPECT_EQ(error_of_text("[hardware]\ngpu = 4090\n"),
            "s.toml:2: hardware.gpu: expected a name in quotes, found 4090");
  EXPECT_EQ(error_of_text("[tiers.gpu]\nshare = \"200%\"\n"),
            "s.toml:2: tiers.gpu.share: \"200%\" is not a share between 0% and 100%");
  EXPECT_EQ(error_of_text("policies = 1\n"), "s.toml:1: policies: expected a table, [policies]");
  EXPECT_EQ(error_of_text("[policies]\neviction = { order = \"front\" }\n"),
            "s.toml:2: policies.eviction: expected a policy's name or { name = \"...\", "
            "parameter = value }, found something else");
}

TEST(document, takes_lists_of_paths_relative_to_the_file_and_in_set_to_the_working_directory) {
  scenario_document document{"a/s.toml", "plugins = [\"one.so\", \"/b/two.so\"]\n"};
  using list = std::vector<std::string>;
  EXPECT_EQ(document.resolved().at("plugins").paths, (list{"a/one.so", "/b/two.so"}));
  EXPECT_EQ(document.resolved().text("plugins"), "one.so, /b/two.so");
  document.set("plugins=three.so");
  EXPECT_EQ(document.resolved().at("plugins").paths, list{"three.so"});
  document.set("plugins=[\"4.so\", \"5.so\"]");
  EXPECT_EQ(document.resolved().at("plugins").paths, (list{"4.so", "5.so"}));
  EXPECT_EQ(error_of_text("plugins = [\"\"]\n"),
            "s.toml:1: plugins: expected a string of one line that is not empty");
  EXPECT_EQ(error_of_text("seed = [\"x\"]\n"),
            "s.toml:1: seed: expected an integer, found something else");
}

TEST(document, refuses_numbers_out_of_range) {
  EXPECT_EQ(error_of_text("[tiers.gpu]\nblocks = 0\n"),
            "s.toml:2: tiers.gpu.blocks: must be at least 1, found 0");
  EXPECT_EQ(error_of_text("[workload.generator]\nrag_share = 1.5\n"),
            "s.toml:2: workload.generator.rag_share: must be 0 to 1, found 1.5");
  EXPECT_EQ(error_of_text("[workload]\nbad_rows = \"dorp\"\n"),
            "s.toml:2: workload.bad_rows: unknown value \"dorp\"; did you mean \"drop\"?");
}

TEST(document, tells_a_syntax_error_in_one_line) {
  std::string error = error_of_text("seed = 1\nname = \n");
  EXPECT_EQ(error.substr(0, 10), "s.toml:2: ");
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(document, refuses_contenders_without_a_name_of_their_own) {
  EXPECT_EQ(error_of_text("\n[[contender]]\npolicies.reuse = \"none\"\n"),
            "s.toml:2: a contender needs a name in quotes");
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"a/b\"\n"),
            "s.toml:1: a contender's name must not be empty nor contain \"/\"");
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"\"\n"),
            "s.toml:1: a contender's name must not be empty nor contain \"/\"");
  EXPECT_EQ(error_of_text("[[contender]]\nname = \"a\"\n[[contender]]\nname = \"a\"\n"),
            "s.toml:3: two contenders are named \"a\"; the other is at s.toml:1");
  EXPECT_EQ(error_of_text("[contender]\nname = \"a\"\n"),
            "s.toml:1: contender: expected [[contender]] tables");
}

TEST(document, has_one_contender_named_after_its_policy_where_none_is_written) {
  EXPECT_EQ(scenario_document("s.toml", "seed = 1\n").contenders().at(0).name, "lru");
  scenario_document fifo{"s.toml", "[policies]\neviction = \"fifo\"\n"};
  EXPECT_EQ(fifo.contenders().at(0).name, "fifo");
  fifo.set("policies.reuse=none");
  EXPECT_EQ(fifo.contenders().at(0).name, "none");
}

TEST(document, resolves_paths_from_its_own_folder_and_those_of_set_from_here) {
  scenario_document document{"some/folder/s.toml",
                             "[workload]\npath = \"t.gz\"\n[hardware]\ngpu = \"h100-sxm\"\n"};
  EXPECT_EQ(document.resolved().at("workload.path").path, "some/folder/t.gz");
  EXPECT_EQ(document.resolved().at("hardware.gpu").path, "h100-sxm");
  document.set("workload.path=t.gz");
  EXPECT_EQ(document.resolved().at("workload.path").path, "t.gz");
  document.set("hardware.gpu=mine.toml");
  EXPECT_EQ(document.resolved().at("hardware.gpu").path, "mine.toml");
}

TEST(document, lets_a_layer_above_replace_share_by_blocks_and_back) {
  scenario_document document{"s.toml", two_contenders};
  scenario_settings big = document.resolved(document.contenders()[1]);
  EXPECT_EQ(big.integer("tiers.gpu.blocks"), 5000);
  EXPECT_FALSE(big.has("tiers.gpu.share"));
  document.set("contender.big cache.tiers.gpu.share=70%");
  big = document.resolved(document.contenders()[1]);
  EXPECT_FALSE(big.has("tiers.gpu.blocks"));
  EXPECT_EQ(big.number("tiers.gpu.share"), 0.7);
  document.set("tiers.gpu.blocks=300");
  EXPECT_EQ(document.resolved(document.contenders()[0]).integer("tiers.gpu.blocks"), 300);
  EXPECT_FALSE(document.resolved(document.contenders()[0]).has("tiers.gpu.share"));
}

TEST(document, refuses_share_and_blocks_in_one_layer) {
  EXPECT_EQ(error_of_text("[tiers.gpu]\nshare = \"80%\"\nblocks = 5\n"),
            "s.toml:2: tiers.gpu.share: excludes s.toml:3: tiers.gpu.blocks; give one of them");
}

TEST(set, takes_toml_and_else_text) {
  scenario_document document{"s.toml", ""};
  document.set("workload.speed=2.5");
  document.set("workload.serial=true");
  document.set("workload.spread=3s");
  document.set("workload.spread=4s");
  document.set("name=2024");
  document.set("policies.batching={ name = \"fcfs\", token_budget = 512 }");
  document.set("policies.eviction=\"fifo\"");
  scenario_settings all = document.resolved();
  EXPECT_EQ(all.number("workload.speed"), 2.5);
  EXPECT_TRUE(all.boolean("workload.serial"));
  EXPECT_EQ(all.time("workload.spread"), std::chrono::seconds{4});
  EXPECT_EQ(all.text("name"), "2024");
  EXPECT_EQ(all.text("policies.batching"), "fcfs");
  EXPECT_EQ(all.at("policies.batching").values, (given_parameters{{"token_budget", "512"}}));
  EXPECT_EQ(all.text("policies.eviction"), "fifo");
}

TEST(set, names_itself_and_the_nearest_key) {
  EXPECT_EQ(error_of_set("", "workload.paht=x"),
            "--set workload.paht: unknown key \"workload.paht\"; did you mean \"workload.path\"?");
  EXPECT_EQ(error_of_set("", "workload.speed=fast"),
            "--set workload.speed: expected a number, found \"fast\"");
  EXPECT_EQ(error_of_set("", "seed"), "--set seed: expected KEY=VALUE");
  EXPECT_EQ(error_of_set("", "policies.batching.token_budget=5"),
            "--set policies.batching.token_budget: unknown key "
            "\"policies.batching.token_budget\"; a policy's parameters stand beside its name: "
            "policies.batching = { name = \"...\", token_budget = ... }");
}

TEST(set, addresses_one_contender_whose_name_has_spaces) {
  scenario_document document{"s.toml", two_contenders};
  document.set("contender.big cache.policies.eviction=fifo");
  EXPECT_EQ(document.resolved(document.contenders()[1]).text("policies.eviction"), "fifo");
  EXPECT_EQ(document.resolved(document.contenders()[0]).text("policies.eviction"), "lru");
  EXPECT_EQ(error_of_set(two_contenders, "contender.big cash.policies.eviction=fifo"),
            "--set contender.big cash.policies.eviction: unknown contender \"big cash\"; did you "
            "mean \"big cache\"?");
  EXPECT_EQ(error_of_set(two_contenders, "contender.none.seed=2"),
            "--set contender.none.seed: seed cannot differ between contenders");
  EXPECT_EQ(error_of_set(two_contenders, "contender.none.tiers.gpu.blocks=0"),
            "--set contender.none.tiers.gpu.blocks: must be at least 1, found 0");
}

TEST(scenario_documents, refuse_characters_that_the_parser_cannot_take) {
  // Found by the fuzzer: toml++ reaches an unreachable point at U+0133.
  try {
    scenario_document document{"x.toml", "name = \"\u0133\"\nseed = \u0133\n"};
    FAIL();
  } catch (const input_error& error) {
    EXPECT_STREQ(error.what(),
                 "x.toml:2: a character that is not ASCII outside of a comment or a string of one "
                 "line");
  }
  scenario_document named{"x.toml", ""};
  named.set("name=\u0133");
  EXPECT_EQ(named.resolved().text("name"), "\u0133");
}

}  // namespace
}  // namespace refrain
