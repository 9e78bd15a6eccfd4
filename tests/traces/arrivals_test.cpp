#include "traces/arrivals.hpp"

#include <cmath>

#include "temp_files.hpp"
#include "traces/quantiles.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

std::vector<double> draw(const arrival_settings& settings, int count, std::uint64_t seed = 1) {
  auto arrivals = make_arrivals(settings, seed);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    auto time = arrivals->next();
    if (!time) {
      break;
    }
    times.push_back(to_seconds(*time));
  }
  return times;
}

struct gap_moments {
  double mean = 0, squared_variation = 0;
};

gap_moments moments(const std::vector<double>& times) {
  double sum = 0, squares = 0, before = 0;
  for (double time : times) {
    EXPECT_GE(time, before);
    sum += time - before;
    squares += (time - before) * (time - before);
    before = time;
  }
  auto n = static_cast<double>(times.size());
  double mean = sum / n;
  return {mean, (squares / n - mean * mean) / (mean * mean)};
}

TEST(arrivals, of_poisson_have_exponential_gaps) {
  gap_moments m = moments(draw({.per_second = 5}, 100'000));
  EXPECT_NEAR(m.mean, 0.2, 0.003);
  EXPECT_NEAR(m.squared_variation, 1, 0.03);
}

TEST(arrivals, of_gamma_vary_by_their_shape_at_the_same_rate) {
  for (double shape : {0.2, 0.7, 1.0, 4.0}) {
    SCOPED_TRACE(shape);
    gap_moments m =
        moments(draw({.kind = arrival_kind::gamma, .per_second = 5, .shape = shape}, 100'000));
    EXPECT_NEAR(m.mean, 0.2, 0.006);
    EXPECT_NEAR(m.squared_variation * shape, 1, 0.06);
  }
}

TEST(arrivals, of_on_off_have_two_rates_for_their_mean_times) {
  auto times = draw({.kind = arrival_kind::on_off,
                     .per_second = 20,
                     .off_per_second = 0,
                     .on_seconds = 10,
                     .off_seconds = 30},
                    200'000);
  // A quarter of the time at 20 a second.
  EXPECT_NEAR(200'000 / times.back(), 5, 0.4);
  int pauses = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    pauses += times[i] - times[i - 1] > 1;
  }
  // exp(-1/30) of the pauses are longer than a second; within a burst no gap is.
  EXPECT_NEAR(pauses / (times.back() / 40), std::exp(-1.0 / 30), 0.05);
}

TEST(arrivals, of_diurnal_follow_the_sine) {
  auto times = draw(
      {.kind = arrival_kind::diurnal, .per_second = 100, .amplitude = 0.8, .period_seconds = 400},
      200'000);
  double first_half = 0, all = 0;
  for (double time : times) {
    if (time < 2000) {
      first_half += std::fmod(time, 400) < 200;
      ++all;
    }
  }
  EXPECT_NEAR(all / 2000, 100, 1.5);
  EXPECT_NEAR(first_half / all, 0.5 + 0.8 / std::acos(-1.0), 0.01);
}

using replayed_arrivals = temp_files;

TEST_F(replayed_arrivals, are_the_starts_of_a_trace_and_end_with_it) {
  std::string text;
  for (int i : {5, 9, 9, 30}) {
    text += "{\"timestamp\": " + std::to_string(i) + ", \"input_length\": 3, " +
            "\"output_length\": 1, \"session_id\": " + std::to_string(i) + "}\n";
  }
  std::string path = write(text);
  arrival_settings settings{.kind = arrival_kind::replayed};
  settings.replay = [path] { return open_trace("mooncake", {.path = path}); };
  EXPECT_THAT(draw(settings, 10),
              testing::ElementsAre(0, testing::DoubleEq(0.004), testing::DoubleEq(0.025)));
}

TEST(arrivals, are_refused_out_of_range_by_their_key) {
  auto error = [](const arrival_settings& settings) {
    return error_of([&] { make_arrivals(settings, 1); });
  };
  EXPECT_EQ(error({.per_second = NAN}), "workload.sessions_per_second: must be 1e-6 to 1e9");
  EXPECT_EQ(error({.kind = arrival_kind::gamma, .shape = 0}),
            "workload.arrivals_shape: must be 0.001 to 1000");
  EXPECT_EQ(error({.kind = arrival_kind::on_off, .per_second = 1e-6, .on_seconds = 1e-6}),
            "workload.on_time: must be long enough for a thousandth of a session");
  EXPECT_EQ(error({.amplitude = 1.5}), "workload.diurnal_amplitude: must be between 0 and 1");
  EXPECT_EQ(error({.kind = arrival_kind::replayed}),
            "workload.replay_path: is missing: the trace whose session starts are replayed");
}

TEST(quantiles, give_values_between_their_points) {
  quantile_table table = parse_quantiles("p0:10, p50:20,p99.9:120, p100:1e3");
  EXPECT_EQ(table.at(0), 10);
  EXPECT_EQ(table.at(0.25), 15);
  EXPECT_EQ(table.at(0.5), 20);
  EXPECT_DOUBLE_EQ(table.at(0.7495), 70);
  EXPECT_EQ(table.at(1), 1000);
  EXPECT_EQ(table.text(), "p0:10,p50:20,p99.9:120,p100:1000");
  EXPECT_EQ(parse_time_quantiles("p0:0,p50:20s,p100:1h").at(0.75), 1810);
  random_stream random{1, "quantiles"};
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    sum += table.at(random.uniform());
  }
  EXPECT_NEAR(sum / 100'000, table.mean(), 0.3);
}

TEST(quantiles, that_make_no_distribution_are_refused) {
  auto error = [](std::string_view text) -> std::string {
    try {
      parse_quantiles(text);
    } catch (const std::invalid_argument& wrong) {
      std::string what = wrong.what();
      return what.substr(0, what.find(';'));
    }
    return "";
  };
  constexpr const char* ends = "the quantiles do not go from p0 to p100";
  EXPECT_EQ(error("p0:1"), ends);
  EXPECT_EQ(error("p1:1,p100:2"), ends);
  EXPECT_EQ(error("p0:1,p99:2"), ends);
  EXPECT_EQ(error("p0:1,p50:2,p50:3,p100:4"), "the percentages do not rise");
  EXPECT_EQ(error("p0:1,p50:3,p100:2"), "the values fall");
  EXPECT_EQ(error(""), "\"\" is no quantile");
  EXPECT_EQ(error("p0:1,50:3,p100:4"), "\"50:3\" is no quantile");
  EXPECT_EQ(error("p0:1,p100:many"), "\"many\" is not a number");
  EXPECT_EQ(error("p0:1,p100:inf"), "\"inf\" is not a number");
  EXPECT_EQ(error("p0:nan,p100:1"), "\"nan\" is not a number");
}

}  // namespace
}  // namespace refrain
