// Runs that compute: all of a run, played again, and a sample beside the simulation.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "analysis/results_reader.hpp"
#include "tests/scenarios/program.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr const char* computing = R"(
seed = 1
[workload]
format = "generator"
[workload.generator]
requests = 24
sessions_per_second = 20
turns_mean = 3
think_time = "100ms"
system_tokens = 40
documents = 5
documents_per_turn = 1
document_tokens = 30
question_tokens = 10
output_tokens = 6
prompt_tokens_max = 300
[execution]
engine = "cpu"
model = "builtin:tiny"
[hardware]
gpu = "rtx-4090"
[tiers.gpu]
blocks = 40
[policies]
batching = { name = "fcfs", token_budget = 64, max_sequences = 4 }
[[contender]]
name = "none"
policies.reuse = "none"
[[contender]]
name = "lru"
)";

class a_computed_run : public program_test {
 protected:
  a_computed_run() { write("c.toml", computing); }

  finished_program run_with(std::vector<std::string> more) {
    std::vector<std::string> words{"run", "c.toml", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  results_reader open(const std::string& file) const { return results_reader{folder_ / file}; }

  static void expect_equal(const table& a, const table& b) {
    ASSERT_TRUE(a.same_columns(b));
    ASSERT_EQ(a.rows(), b.rows());
    for (const column& each : a.columns) {
      if (const auto* reals = std::get_if<std::vector<double>>(&each.values)) {
        const std::vector<double>& others = b.at(each.name).reals();
        for (std::size_t i = 0; i < reals->size(); ++i) {
          EXPECT_TRUE((*reals)[i] == others[i] ||
                      (std::isnan((*reals)[i]) && std::isnan(others[i])))
              << each.name << " of row " << i;
        }
      } else {
        EXPECT_EQ(each.values, b.at(each.name).values) << each.name;
      }
    }
  }

  void expect_one_line(const finished_program& refused, const std::string& words) {
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
};

TEST_F(a_computed_run, takes_as_long_as_its_iterations_took) {
  finished_program done = run_with({"-o", "a.h5"});
  ASSERT_EQ(done.status, 0) << done.err;
  results_reader results = open("a.h5");
  for (std::size_t contender : {0, 1}) {
    table iterations = results.read(contender, "iterations");
    table requests = results.read(contender, "requests");
    ASSERT_EQ(requests.rows(), 24u);
    std::int64_t prefilled = 0;
    std::int64_t took = 0;
    const auto& began = iterations.at("began_ns").integers();
    for (std::size_t i = 0; i < iterations.rows(); ++i) {
      prefilled += iterations.at("prefill_tokens").integers()[i];
      took = iterations.at("took_ns").integers()[i];
      EXPECT_GT(took, 0);
      EXPECT_TRUE(i + 1 == iterations.rows() || began[i + 1] >= began[i] + took);
    }
    std::int64_t computed = 0;
    for (std::int64_t tokens : requests.at("computed_tokens").integers()) {
      computed += tokens;
    }
    // A prompt of which only the last token is computed counts as a decode.
    EXPECT_LE(prefilled, computed);
    EXPECT_GE(prefilled, computed - 24);
    double last = 0;
    for (double finished : requests.at("finish_s").reals()) {
      last = std::max(last, finished);
    }
    EXPECT_NEAR(last * 1e9, static_cast<double>(began.back() + took), 1);
  }
}

TEST_F(a_computed_run, saves_what_reuse_saves) {
  nlohmann::json document = run_with({}).json();
  EXPECT_EQ(document.at("contenders").at(1).at("execution"),
            (nlohmann::json{{"engine", "cpu"}, {"model", "builtin:tiny"}, {"precision", "fp32"}}));
  auto metrics = [&](int i) { return document.at("contenders").at(i).at("metrics"); };
  EXPECT_LT(metrics(1).at("computed_tokens").at("value"),
            metrics(0).at("computed_tokens").at("value"));
  EXPECT_GT(metrics(1).at("hit_tokens").at("value"), 0);
}

TEST_F(a_computed_run, is_played_again_to_the_nanosecond) {
  ASSERT_EQ(run_with({"-o", "a.h5"}).status, 0);
  finished_program again = run_with({"-o", "b.h5", "--set", "execution.replay=a.h5"});
  ASSERT_EQ(again.status, 0) << again.err;
  for (std::size_t contender : {0, 1}) {
    for (const std::string& name : open("a.h5").tables(contender)) {
      expect_equal(open("a.h5").read(contender, name), open("b.h5").read(contender, name));
    }
  }
  finished_program third = run_with({"-o", "c.h5", "--set", "execution.replay=b.h5"});
  ASSERT_EQ(third.status, 0) << third.err;
}

TEST_F(a_computed_run, is_not_played_again_as_another_one) {
  ASSERT_EQ(run_with({"-o", "a.h5"}).status, 0);
  finished_program other = run_with(
      {"--set", "execution.replay=a.h5", "--set", "workload.generator.question_tokens=11"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("the recorded run was another one: its iteration"), std::string::npos)
      << other.err;
  expect_one_line(run_with({"--set", "execution.replay=none.h5"}), "none.h5");
  ASSERT_EQ(run_with({"-o", "f.h5", "--set", "execution.engine=cost_model"}).status, 0);
  expect_one_line(run_with({"--set", "execution.replay=f.h5"}), "\"none\" was not computed");
}

TEST_F(a_computed_run, is_not_played_again_as_if_computed_otherwise) {
  ASSERT_EQ(run_with({"-o", "a.h5"}).status, 0);
  expect_one_line(
      run_with({"--set", "execution.replay=a.h5", "--set", "execution.precision=fp32_fast"}),
      "\"none\" was computed with execution.precision = \"fp32\", and here it is \"fp32_fast\"");
  expect_one_line(
      run_with({"--set", "execution.replay=a.h5", "--set", "execution.engine=cost_model"}),
      "nothing would be played again");
  finished_program one = run_with(
      {"--set", "execution.replay=a.h5", "--set", "contender.none.execution.engine=cost_model"});
  EXPECT_EQ(one.status, 0) << one.err;
}

TEST_F(a_computed_run, says_where_prompts_are_longer_than_what_the_model_was_trained_with) {
  std::vector<std::string> long_ones{"--only", "lru",
                                     "--set",  "workload.limit=1",
                                     "--set",  "workload.generator.system_tokens=4100",
                                     "--set",  "workload.generator.prompt_tokens_max=5000",
                                     "--set",  "tiers.gpu.blocks=100"};
  EXPECT_NE(run_with(long_ones).out.find("builtin:tiny was trained with 4,096"), std::string::npos);
  EXPECT_EQ(run_with({"--only", "lru"}).out.find("trained"), std::string::npos);
}

TEST_F(a_computed_run, refuses_what_it_cannot_compute) {
  expect_one_line(run_with({"--set", "tiers.host.capacity=1GiB"}), "tiers below it out");
  expect_one_line(run_with({"--set", "policies.reuse=chunk"}), "expected none, prefix or reorder");
  expect_one_line(run_with({"--set", "policies.eviction=infinite"}), "needs room for every block");
  expect_one_line(run_with({"--set", "model.name=llama-3-8b"}), "leave this out");
  expect_one_line(run_with({"--set", "execution.model=builtin:tin"}), "expected \"builtin:tiny\"");
  expect_one_line(run_with({"--set", "execution.model=no.gguf"}), "no.gguf");
  expect_one_line(run_with({"--set", "execution.precision=fp16"}), "unknown value \"fp16\"");
  expect_one_line(run_with({"--set", "execution.sample.sessions=2"}), "computes every request");
  expect_one_line(run_with({"--set", "hardware.gpu=h100-sxm", "--set", "hardware.count=2", "--set",
                            "hardware.tensor_parallel=2"}),
                  "computes on one rank");
}

constexpr const char* asking = R"(
seed = 1
[workload]
format = "questions"
[workload.questions]
requests = 12
system_tokens = 8
output_tokens = 4
made = 5
[corpus]
path = "texts"
format = "folder"
[execution]
engine = "cpu"
model = "builtin:tiny"
[retriever]
top = 2
[hardware]
gpu = "rtx-4090"
[tiers.gpu]
blocks = 200
[[contender]]
name = "lru"
)";

class computed_texts : public program_test {
 protected:
  computed_texts() {
    std::filesystem::create_directory(folder_ / "texts");
    write("texts/a.txt", "The quick brown fox jumps over the lazy dog near the river bank.");
    write("texts/b.txt", "Paged blocks of keys and values are found again by what they hold.");
    write("asking.toml", asking);
  }

  std::int64_t input_tokens(const finished_program& done) const {
    return done.json().at("contenders").at(0).at("metrics").at("input_tokens").at("value");
  }
};

TEST_F(computed_texts, have_the_tokens_of_the_tokenizer) {
  finished_program guessed = run({"run", "asking.toml", "--json"});
  ASSERT_EQ(guessed.status, 0) << guessed.err;
  finished_program real =
      run({"run", "asking.toml", "--json", "--set", "workload.tokenizer=builtin:tiny"});
  ASSERT_EQ(real.status, 0) << real.err;
  // Four bytes a token are guessed, and builtin:tiny has one for each byte; 8 of the system prompt.
  EXPECT_GT(input_tokens(real), 3 * input_tokens(guessed));
}

class a_sample : public program_test {
 protected:
  finished_program quickstart(const std::string& file, const std::string& sessions) {
    return run(
        {"run", source("scenarios/quickstart.toml"), "--set",
         refrain_debug_checks ? "workload.generator.requests=20" : "workload.generator.requests=60",
         "--set", "execution.sample.sessions=" + sessions, "--set",
         "execution.sample.tokens_max=700", "-o", file});
  }
};

TEST_F(a_sample, leaves_every_simulated_table_as_it_is) {
  ASSERT_EQ(quickstart("without.h5", "0").status, 0);
  finished_program with = quickstart("with.h5", "5");
  ASSERT_EQ(with.status, 0) << with.err;
  EXPECT_NE(with.out.find("\nreally ran"), std::string::npos);
  EXPECT_NE(with.out.find("with builtin:tiny in fp32"), std::string::npos);
  results_reader a{folder_ / "without.h5"};
  results_reader b{folder_ / "with.h5"};
  for (std::size_t contender = 0; contender < 4; ++contender) {
    EXPECT_FALSE(a.has(contender, "measured"));
    ASSERT_TRUE(b.has(contender, "measured"));
    for (const char* name : {"requests", "executors", "tiers"}) {
      table one = a.read(contender, name);
      table two = b.read(contender, name);
      ASSERT_TRUE(one.same_columns(two));
      for (std::size_t i = 0; i < one.columns.size(); ++i) {
        // Byte for byte: nan equals nan.
        std::visit(
            [&](const auto& values) {
              using value = typename std::decay_t<decltype(values)>::value_type;
              const auto& others = std::get<std::decay_t<decltype(values)>>(two.columns[i].values);
              ASSERT_EQ(values.size(), others.size());
              if constexpr (std::is_trivially_copyable_v<value>) {
                EXPECT_EQ(std::memcmp(values.data(), others.data(), values.size() * sizeof(value)),
                          0)
                    << one.columns[i].name;
              } else {
                EXPECT_EQ(values, others);
              }
            },
            one.columns[i].values);
      }
    }
  }
}

TEST_F(a_sample, of_which_nothing_is_short_enough_is_warned_of) {
  finished_program done =
      run({"run", source("scenarios/quickstart.toml"), "--set", "workload.generator.requests=20",
           "--set", "execution.sample.tokens_max=5", "--only", "lru"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("lru: nothing really ran: all "), std::string::npos) << done.err;
}

TEST_F(a_sample, holds_whole_sessions_as_they_were_served) {
  ASSERT_EQ(quickstart("a.h5", "60").status, 0);
  results_reader results{folder_ / "a.h5"};
  for (std::size_t contender = 0; contender < 4; ++contender) {
    table measured = results.read(contender, "measured");
    table requests = results.read(contender, "requests");
    std::size_t short_ones = 0;
    for (std::size_t i = 0; i < requests.rows(); ++i) {
      auto at = [&](const char* name) { return requests.at(name).integers()[i]; };
      short_ones += at("input_tokens") + at("output_tokens") <= 700;
    }
    EXPECT_EQ(measured.rows(), short_ones);
    EXPECT_GT(short_ones, 0u);
    for (std::size_t i = 0; i < measured.rows(); ++i) {
      auto id = measured.at("request").integers()[i];
      const auto& ids = requests.at("request").integers();
      auto row = static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
      ASSERT_LT(row, requests.rows());
      EXPECT_EQ(measured.at("hit_tokens").integers()[i], requests.at("hit_tokens").integers()[row]);
      EXPECT_GT(measured.at("prefill_s").reals()[i], 0);
    }
  }
}

}  // namespace
}  // namespace refrain
