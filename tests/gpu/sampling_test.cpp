#include "gpu/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> logits_of(std::initializer_list<double> probabilities) {
  std::vector<float> out;
  for (double probability : probabilities) {
    out.push_back(static_cast<float>(std::log(probability) + 7));
  }
  return out;
}

std::vector<float> random_logits(std::size_t count, std::uint64_t seed) {
  random_stream random{seed, "logits"};
  std::vector<float> out(count);
  std::ranges::generate(out, [&] { return static_cast<float>(3 * random.normal()); });
  return out;
}

std::vector<token_id> drawn(const sampling_settings& settings, std::span<const float> logits,
                            std::uint64_t count, std::uint64_t seed = 1) {
  token_sampler sampler{settings, seed};
  std::vector<token_id> out;
  for (std::uint64_t step = 0; step < count; ++step) {
    out.push_back(sampler.next(logits, request_id{7}, step));
  }
  return out;
}

/// Sum of (observed - expected)^2 / expected; tokens of probability 0 must not occur.
double chi_square(std::span<const token_id> tokens, std::span<const double> probabilities) {
  std::vector<double> counts(probabilities.size());
  for (token_id token : tokens) {
    ++counts[static_cast<std::size_t>(token)];
  }
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    double expected = static_cast<double>(tokens.size()) * probabilities[i];
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
    } else {
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
  }
  return sum;
}

std::string refusal_of(std::span<const float> logits) {
  try {
    greedy(logits, "here");
  } catch (const run_error& error) {
    return error.what();
  }
  return "";
}

TEST(sampling, greedy_takes_the_first_of_equal_maxima) {
  EXPECT_EQ(greedy(std::vector{-1.0F, 4.0F, 2.0F, 4.0F}, ""), 1);
  EXPECT_EQ(greedy(std::vector{-infinity, -5.0F}, ""), 1);
  EXPECT_EQ(greedy(std::vector{-0.0F, 0.0F}, ""), 0);
}

TEST(sampling, logits_that_are_no_numbers_stop_the_run_and_name_the_place) {
  EXPECT_EQ(refusal_of(std::vector{1.0F, nan, nan}), "here: the logit of token 1 is NaN");
  EXPECT_EQ(refusal_of(std::vector{nan, 1.0F}), "here: the logit of token 0 is NaN");
  EXPECT_EQ(refusal_of(std::vector{1.0F, 2.0F, infinity}),
            "here: the logit of token 2 is +infinity");
  EXPECT_EQ(refusal_of(std::vector{-infinity, -infinity}), "here: no token has a finite logit");
  EXPECT_EQ(refusal_of({}), "here: no token has a finite logit");
  std::vector<float> bad{0.0F, nan}, good{0.0F, 1.0F};
  EXPECT_THROW(log_softmax(bad, ""), run_error);
  EXPECT_THROW(kl_divergence(good, bad, ""), run_error);
  EXPECT_THROW(kl_divergence(bad, good, ""), run_error);
  try {
    token_sampler{{}, 1}.next(bad, request_id{12}, 3);
    FAIL();
  } catch (const run_error& error) {
    EXPECT_STREQ(error.what(), "request 12, step 3: the logit of token 1 is NaN");
  }
}

TEST(sampling, a_row_that_is_refused_leaves_a_comparison_as_it_was) {
  logit_comparison comparison;
  std::vector<float> bad{0.0F, nan}, good{0.0F, 1.0F};
  EXPECT_THROW(comparison.add(good, bad, ""), run_error);
  EXPECT_EQ(comparison.rows(), 0);
  EXPECT_EQ(comparison.kl_mean(), 0);
}

TEST(sampling, log_softmax_is_normalised_wherever_the_logits_lie) {
  for (float shift : {0.0F, 1000.0F, -1000.0F}) {
    std::vector<float> logits{0.25F + shift, shift, 3 + shift, -infinity};
    auto out = log_softmax(logits, "");
    double sum = 0;
    for (double each : out) {
      sum += std::exp(each);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(out[2] - out[1], 3, 1e-12);
    EXPECT_EQ(out[3], -std::numeric_limits<double>::infinity());
  }
}

TEST(sampling, divergence_is_that_of_its_definition) {
  auto p = logits_of({0.5, 0.25, 0.25}), q = logits_of({0.25, 0.25, 0.5});
  EXPECT_NEAR(kl_divergence(p, q, ""), 0.25 * std::log(2), 1e-6);
  EXPECT_EQ(kl_divergence(p, p, ""), 0);
  std::vector<float> without{0.0F, -infinity}, with{0.0F, 0.0F};
  EXPECT_NEAR(kl_divergence(without, with, ""), std::log(2), 1e-12);
  EXPECT_EQ(kl_divergence(with, without, ""), std::numeric_limits<double>::infinity());
  EXPECT_EQ(kl_divergence(without, without, ""), 0);
}

TEST(sampling, a_comparison_counts_rows_with_the_same_top_and_averages_divergences) {
  logit_comparison comparison;
  auto p = logits_of({0.5, 0.25, 0.25}), q = logits_of({0.25, 0.25, 0.5});
  comparison.add(p, p, "");
  comparison.add(p, q, "");
  EXPECT_EQ(comparison.rows(), 2);
  EXPECT_EQ(comparison.rows_of_same_top(), 1);
  EXPECT_NEAR(comparison.kl_max(), 0.25 * std::log(2), 1e-6);
  EXPECT_NEAR(comparison.kl_mean(), 0.125 * std::log(2), 1e-6);
}

TEST(sampling, temperature_0_is_greedy_and_so_is_top_k_1_and_a_tiny_top_p) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto logits = random_logits(100, seed);
    std::vector<token_id> wanted(5, greedy(logits, ""));
    EXPECT_EQ(drawn({.temperature = 0}, logits, 5), wanted);
    EXPECT_EQ(drawn({.temperature = 0, .top_k = 9, .top_p = 0.5}, logits, 5), wanted);
    EXPECT_EQ(drawn({.top_k = 1}, logits, 5), wanted);
    EXPECT_EQ(drawn({.top_p = 1e-9}, logits, 5), wanted);
    EXPECT_EQ(drawn({.temperature = 1e-300}, logits, 5), wanted);
    EXPECT_EQ(drawn({.temperature = 5e-324}, logits, 5), wanted);
  }
  // of equal logits the first, as greedy does
  EXPECT_EQ(drawn({.top_k = 1}, std::vector<float>(9, 1.0F), 3), (std::vector<token_id>{0, 0, 0}));
}

TEST(sampling, filters_that_keep_all_change_nothing) {
  auto logits = random_logits(300, 1);
  auto plain = drawn({}, logits, 500);
  EXPECT_EQ(drawn({.top_p = 1}, logits, 500), plain);
  EXPECT_EQ(drawn({.top_k = 300}, logits, 500), plain);
  EXPECT_EQ(drawn({.top_k = 1'000'000}, logits, 500), plain);
  EXPECT_EQ(drawn({.top_p = std::nextafter(1.0, 0.0)}, logits, 500), plain);
}

TEST(sampling, frequencies_are_the_probabilities) {
  std::vector<double> p{0.02, 0.4, 0.1, 0.0, 0.03, 0.25, 0.05, 0.15};
  auto logits = logits_of({0.02, 0.4, 0.1, 0.0, 0.03, 0.25, 0.05, 0.15});
  ASSERT_EQ(logits[3], -infinity);
  // bounds that one seed in a thousand exceeds, for 6, 3, 2 and 1 degrees of freedom: 22.5, 16.3,
  // 13.8 and 10.8
  EXPECT_LT(chi_square(drawn({}, logits, 20000), p), 22.5);
  // by request as by step
  token_sampler sampler{{}, 1};
  std::vector<token_id> first;
  for (std::uint64_t request = 0; request < 20000; ++request) {
    first.push_back(sampler.next(logits, request_id{request}, 0));
  }
  EXPECT_LT(chi_square(first, p), 22.5);
}

TEST(sampling, temperature_then_top_k_then_top_p_leave_what_they_should) {
  auto logits = logits_of({0.02, 0.4, 0.1, 0.03, 0.25, 0.05, 0.15});
  // at temperature 2 probabilities go with their roots
  std::vector<double> tempered;
  for (double p : {0.02, 0.4, 0.1, 0.03, 0.25, 0.05, 0.15}) {
    tempered.push_back(std::sqrt(p));
  }
  double sum = std::accumulate(tempered.begin(), tempered.end(), 0.0);
  for (double& each : tempered) {
    each /= sum;
  }
  EXPECT_LT(chi_square(drawn({.temperature = 2}, logits, 20000), tempered), 22.5);
  std::vector<double> top_3{0, 0.5, 0, 0, 0.3125, 0, 0.1875};
  EXPECT_LT(chi_square(drawn({.top_k = 3}, logits, 20000), top_3), 13.8);
  // 0.4 + 0.25 stays below 0.7, so the third is kept too
  EXPECT_LT(chi_square(drawn({.top_p = 0.7}, logits, 20000), top_3), 13.8);
  // shares are those within top_k: 0.5 + 0.3125 reach 0.8, which 0.4 + 0.25 do not
  std::vector<double> top_2{0, 0.4 / 0.65, 0, 0, 0.25 / 0.65, 0, 0};
  EXPECT_LT(chi_square(drawn({.top_k = 3, .top_p = 0.8}, logits, 20000), top_2), 10.8);
  // the temperature comes first: three of the roots are 0.64 of all, so 0.7 needs a fourth
  sum = tempered[1] + tempered[2] + tempered[4] + tempered[6];
  std::vector<double> top_4{0, tempered[1] / sum, tempered[2] / sum, 0, tempered[4] / sum,
                            0, tempered[6] / sum};
  EXPECT_LT(chi_square(drawn({.temperature = 2, .top_p = 0.7}, logits, 20000), top_4), 16.3);
}

TEST(sampling, a_token_depends_on_seed_request_and_step_and_nothing_else) {
  auto logits = random_logits(1000, 2), other = random_logits(1000, 3);
  token_sampler sampler{{.temperature = 1.5}, 9}, again{{.temperature = 1.5}, 9};
  std::map<std::pair<std::uint64_t, std::uint64_t>, token_id> first;
  for (std::uint64_t request = 0; request < 30; ++request) {
    for (std::uint64_t step = 0; step < 30; ++step) {
      first[{request, step}] = sampler.next(logits, request_id{request}, step);
    }
  }
  for (std::uint64_t step = 30; step-- > 0;) {  // in another order, with others in between
    for (std::uint64_t request = 30; request-- > 0;) {
      again.next(other, request_id{request}, step);
      EXPECT_EQ(again.next(logits, request_id{request}, step), (first[{request, step}]));
    }
  }
  EXPECT_NE(drawn({}, logits, 50, 1), drawn({}, logits, 50, 2));
}

TEST(sampling, top_k_keeps_exactly_k_of_equal_logits) {
  std::vector<float> logits(20, 1.0F);
  logits[15] = 2.0F;
  auto tokens = drawn({.top_k = 4}, logits, 2000);
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  EXPECT_EQ(tokens, (std::vector<token_id>{0, 1, 2, 15}));
}

}  // namespace
}  // namespace refrain
