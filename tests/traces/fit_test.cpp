// How close a fitted workload comes to its trace, on public traces and on one whose settings are
// known.
#include "traces/fit.hpp"

#include <filesystem>

#include "temp_files.hpp"
#include "traces/random.hpp"
#include "traces/write_trace.hpp"

namespace refrain {
namespace {

using fit = temp_files;

double hit_rate(const trace_description& d) {
  return static_cast<double>(d.endless.full_hit_tokens) /
         static_cast<double>(d.endless.input_tokens);
}

/// What a public trace is, what its fit generates with another seed, and the fit.
struct comparison {
  trace_description original, generated;
  fitted_workload fitted;
};

std::string public_trace(const std::string& name) {
  return std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + name + "_trace.jsonl.gz";
}

/// One fit, and what it generates with each of five other seeds.
std::vector<comparison> compare_with(const std::string& path) {
  auto open = [&] { return open_trace("mooncake", {.path = path}); };
  comparison c;
  c.fitted = fit_trace(open);
  describe_trace(*open(), c.original);
  std::vector<comparison> all(5, c);
  for (std::uint64_t seed = 2; comparison & each : all) {
    auto rows = make_generator(c.fitted.settings, seed++);
    describe_trace(*rows, each.generated, c.fitted.block_tokens);
  }
  return all;
}

/// Few long prompts carry much of the hits, so one workload's rate lies up to 0.035 off.
void expect_close_rates(const std::vector<comparison>& all) {
  double sum = 0;
  for (const comparison& c : all) {
    EXPECT_NEAR(hit_rate(c.generated), c.fitted.hit_rate, 0.035);
    sum += hit_rate(c.generated);
  }
  EXPECT_NEAR(sum / static_cast<double>(all.size()), all[0].fitted.hit_rate, 0.015);
}

/// Relative distance of two sets' quantiles, each within its bound.
void expect_close(const value_counts& original, const value_counts& generated,
                  const std::vector<double>& shares, const std::vector<double>& bounds,
                  const char* what) {
  auto a = original.at(shares), b = generated.at(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    auto expected = static_cast<double>(a[i]);
    EXPECT_NEAR(static_cast<double>(b[i]) / expected, 1, bounds[i])
        << what << " at " << shares[i] << ": " << a[i] << " and " << b[i];
  }
}

TEST(fit_of_the_conversation_trace, comes_close_in_hit_rate_gaps_and_lengths) {
  std::string path = public_trace("conversation");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the conversation trace is absent";
  }
  if (refrain_debug_checks) {
    GTEST_SKIP() << "takes minutes in a debug build";
  }
  std::vector<comparison> all = compare_with(path);
  expect_close_rates(all);
  for (const comparison& c : all) {
    EXPECT_EQ(c.fitted.settings.arrivals.kind, arrival_kind::poisson) << c.fitted.gap_variation;
    EXPECT_EQ(c.fitted.settings.system_prompts, 1u);
    EXPECT_EQ(c.fitted.settings.system_tokens, 512);
    EXPECT_NEAR(c.fitted.hit_rate, 0.373380, 1e-6);
    expect_close(c.fitted.gaps_ms, c.generated.gaps_ms, {0.5, 0.9}, {0.05, 0.05}, "gap");
    expect_close(c.original.input, c.generated.input, {0.5, 0.9, 0.99}, {0.1, 0.15, 0.15}, "input");
    expect_close(c.original.output, c.generated.output, {0.5, 0.9, 0.99}, {0.05, 0.05, 0.2},
                 "output");
  }
}

TEST(fit_of_the_synthetic_trace, comes_close_in_hit_rate_gaps_and_lengths) {
  std::string path = public_trace("synthetic");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the synthetic trace is absent";
  }
  if (refrain_debug_checks) {
    GTEST_SKIP() << "takes minutes in a debug build";
  }
  std::vector<comparison> all = compare_with(path);
  expect_close_rates(all);
  for (const comparison& c : all) {
    EXPECT_EQ(c.fitted.settings.system_prompts, 0u);
    EXPECT_NEAR(c.fitted.hit_rate, 0.650431, 1e-6);
    expect_close(c.fitted.gaps_ms, c.generated.gaps_ms, {0.5, 0.9}, {0.1, 0.1}, "gap");
    // Short and long sessions leave a gap around the median, where a quantile says little.
    expect_close(c.original.input, c.generated.input, {0.5, 0.9}, {0.3, 0.1}, "input");
    expect_close(c.original.output, c.generated.output, {0.5, 0.9, 0.99}, {0.1, 0.05, 0.05},
                 "output");
  }
}

TEST_F(fit, of_a_generated_trace_with_sessions_finds_its_settings) {
  generator_settings settings{.sessions_per_second = 3,
                              .requests = 3000,
                              .turns_mean = 4,
                              .think_seconds = {30, 0.5},
                              .system_prompts = 3,
                              .system_tokens = token_count{256},
                              .rag_share = 0,
                              .prompt_tokens_max = token_count{100'000}};
  auto open = [&] { return make_generator(settings, 9); };
  fitted_workload fitted = fit_trace(open);
  const generator_settings& found = fitted.settings;
  EXPECT_EQ(found.system_prompts, 3u);
  EXPECT_EQ(found.system_tokens, 256);
  EXPECT_NEAR(found.system_zipf, 1, 0.1);
  EXPECT_EQ(found.system_share, 1);
  EXPECT_TRUE(found.answers_recur);
  EXPECT_EQ(found.arrivals.kind, arrival_kind::poisson);
  EXPECT_NEAR(found.sessions_per_second, 3, 0.2);
  EXPECT_NEAR(found.think_seconds.quantiles.at(0.5), 30, 1.5);
  EXPECT_NEAR(found.single_turn_share, 0.25, 0.05);
  EXPECT_EQ(found.history_kept.least(), 1);
  EXPECT_NEAR(found.output_tokens.quantiles.at(0.5), 192, 10);
  EXPECT_NEAR(fitted.generated_hit_rate, fitted.hit_rate, 0.01);
}

TEST_F(fit, infers_the_sessions_of_a_trace_that_names_none) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    // Every four requests extend one chain behind block 0: 2, 3, 4 and 5 blocks.
    std::string ids = "0";
    for (int k = 0; k <= i % 4; ++k) {
      ids += ", " + std::to_string(10 * (i / 4) + k + 1);
    }
    text += "{\"timestamp\": " + std::to_string(1000 * i) +
            ", \"input_length\": " + std::to_string(512 * (2 + i % 4)) +
            ", \"output_length\": 7, \"hash_ids\": [" + ids + "]}\n";
  }
  std::string path = write(text);
  fitted_workload fitted = fit_trace([&] { return open_trace("mooncake", {.path = path}); });
  EXPECT_EQ(fitted.sessions, 100u);
  EXPECT_EQ(fitted.followups, 300u);
  EXPECT_EQ(fitted.settings.single_turn_share, 0);
  EXPECT_EQ(fitted.settings.turns.least(), 4);
  EXPECT_EQ(fitted.settings.turns.most(), 4);
  EXPECT_EQ(fitted.settings.system_tokens, 512);
  EXPECT_EQ(fitted.settings.followup_tokens.quantiles.text(), "p0:512,p100:512");
  EXPECT_EQ(fitted.settings.think_seconds.quantiles.text(), "p0:1,p100:1");
  EXPECT_EQ(fitted.settings.arrivals.kind, arrival_kind::gamma) << "regular, not Poisson";
  EXPECT_NEAR(fitted.generated_hit_rate, fitted.hit_rate, 0.002);
}

TEST_F(fit, of_lengths_alone_invents_no_reuse) {
  auto plain = [](int i) {
    return "{\"timestamp\": " + std::to_string(i * 10) + ", \"input_length\": 100, " +
           "\"output_length\": 5}\n";
  };
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += plain(i);
  }
  std::string path = write(text);
  fitted_workload fitted = fit_trace([&] { return open_trace("mooncake", {.path = path}); });
  EXPECT_EQ(fitted.followups, 0u);
  EXPECT_EQ(fitted.settings.system_prompts, 0u);
  EXPECT_EQ(fitted.generated_hit_rate, 0);
  trace_description generated;
  describe_trace(*make_generator(fitted.settings, 2), generated);
  EXPECT_EQ(generated.requests, 50u);
  EXPECT_EQ(generated.input.at({0, 1}), (std::vector<std::int64_t>{100, 100}));
}

TEST_F(fit, tells_the_arrival_processes_apart) {
  auto kind_of = [](const arrival_settings& settings, int count) {
    auto arrivals = make_arrivals(settings, 5);
    std::vector<double> starts;
    for (int i = 0; i < count; ++i) {
      starts.push_back(to_seconds(*arrivals->next()));
    }
    fitted_workload found;
    fit_arrivals(starts, 1, found);
    return found.settings;
  };
  EXPECT_EQ(kind_of({.per_second = 4}, 20'000).arrivals.kind, arrival_kind::poisson);
  generator_settings bursts =
      kind_of({.kind = arrival_kind::gamma, .per_second = 4, .shape = 0.3}, 20'000);
  EXPECT_EQ(bursts.arrivals.kind, arrival_kind::gamma);
  EXPECT_NEAR(bursts.arrivals.shape, 0.3, 0.03);
  EXPECT_NEAR(bursts.sessions_per_second, 4, 0.2);
  generator_settings switching = kind_of({.kind = arrival_kind::on_off,
                                          .per_second = 10,
                                          .off_per_second = 1,
                                          .on_seconds = 100,
                                          .off_seconds = 100},
                                         60'000);
  EXPECT_EQ(switching.arrivals.kind, arrival_kind::on_off);
  EXPECT_NEAR(switching.sessions_per_second, 10, 1);
  EXPECT_NEAR(switching.arrivals.off_per_second, 1, 0.4);
  EXPECT_NEAR(switching.arrivals.on_seconds, 100, 25);
  generator_settings daily =
      kind_of({.kind = arrival_kind::diurnal, .per_second = 0.1, .amplitude = 0.6}, 40'000);
  EXPECT_EQ(daily.arrivals.kind, arrival_kind::diurnal);
  EXPECT_NEAR(daily.arrivals.amplitude, 0.6, 0.05);
}

TEST_F(fit, refuses_a_trace_of_objects) {
  std::string path = write(std::string(11, '\0') + '\1' + std::string(1, 7) + std::string(11, 0));
  EXPECT_EQ(
      error_of([&] { fit_trace([&] { return open_trace("oracle_general", {.path = path}); }); }),
      "oracle_general: gives no token lengths, so no workload can be fitted");
}

}  // namespace
}  // namespace refrain
