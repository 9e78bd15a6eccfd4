// What a scenario may ask of the generator beyond the defaults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <map>
#include <set>

#include "temp_files.hpp"
#include "traces/generator.hpp"
#include "traces/keys.hpp"

namespace refrain {
namespace {

std::vector<request> generate(const generator_settings& settings, std::uint64_t seed = 1) {
  return read_all(*make_generator(settings, seed));
}

std::vector<content_id> documents_of(const request& row) {
  std::vector<content_id> found;
  for (const segment& piece : row.segments) {
    if (piece.kind == segment_kind::document) {
      found.push_back(piece.content);
    }
  }
  return found;
}

TEST(generator_options, quantile_tables_rule_lengths_turns_and_think_times) {
  generator_settings settings{.sessions = 4000, .requests = 0, .rag_share = 0};
  settings.turns = parse_quantiles("p0:2,p100:2");
  settings.question_tokens.quantiles = parse_quantiles("p0:100,p50:200,p100:400");
  settings.output_tokens.quantiles = parse_quantiles("p0:7,p100:7");
  settings.think_seconds.quantiles = parse_time_quantiles("p0:1s,p100:3s");
  int below = 0, questions = 0;
  double think = 0;
  for (const request& row : generate(settings)) {
    EXPECT_EQ(row.output_tokens, 7);
    std::int64_t question = row.segments.back().tokens;
    EXPECT_TRUE(question >= 100 && question <= 400);
    below += question <= 200;
    ++questions;
    EXPECT_LE(row.turn, 1u);
    think += to_seconds(row.delay);
  }
  EXPECT_EQ(questions, 8000);
  EXPECT_NEAR(below, 4000, 200);
  EXPECT_NEAR(think / 4000, 2, 0.05);
}

TEST(generator_options, think_times_have_their_category_and_law) {
  generator_settings settings{.sessions = 8000, .requests = 0};
  settings.turns = parse_quantiles("p0:2,p100:2");
  settings.think_seconds = {10, 0};
  settings.rag_think_seconds = {60, 0, quantity_law::exponential};
  double sum = 0;
  int rag = 0, below = 0;
  for (const request& row : generate(settings)) {
    if (row.turn == 1 && documents_of(row).empty()) {
      EXPECT_EQ(row.delay, std::chrono::seconds{10});
    } else if (row.turn == 1) {
      ++rag;
      below += to_seconds(row.delay) < 60;
      sum += to_seconds(row.delay);
    }
  }
  EXPECT_NEAR(rag, 4000, 200);
  EXPECT_NEAR(below / static_cast<double>(rag), 0.5, 0.03) << "60 s is the median";
  EXPECT_NEAR(sum / rag, 60 / std::log(2.0), 5);
}

TEST(generator_options, the_ranking_of_documents_rotates_by_the_hour) {
  generator_settings settings{.sessions_per_second = 1,
                              .requests = 36'000,
                              .turns_mean = 1,
                              .rag_share = 1,
                              .documents = 50,
                              .document_zipf = 3,
                              .documents_per_turn = 1,
                              .document_drift = 2};
  std::vector<std::map<content_id, int>> hours(10);
  for (const request& row : generate(settings)) {
    auto hour = static_cast<std::size_t>(to_seconds(row.arrival) / 3600);
    if (hour < hours.size()) {
      ++hours[hour][documents_of(row).at(0)];
    }
  }
  auto most = [](const std::map<content_id, int>& counts) {
    return std::max_element(counts.begin(), counts.end(),
                            [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  };
  std::set<content_id> leaders;
  for (const auto& counts : hours) {
    leaders.insert(most(counts));
  }
  EXPECT_EQ(leaders.size(), 10u);
  settings.document_drift = 0;
  std::map<content_id, int> still;
  for (const request& row : generate(settings)) {
    ++still[documents_of(row).at(0)];
  }
  EXPECT_GT(still.at(most(still)), 25'000);
}

TEST(generator_options, turns_may_return_to_the_documents_of_their_session) {
  auto new_documents = [](double repeat) {
    generator_settings settings{.sessions = 2000,
                                .requests = 0,
                                .rag_share = 1,
                                .documents = 10'000,
                                .document_zipf = 0,
                                .documents_per_turn = 2,
                                .document_repeat = repeat,
                                .prompt_tokens_max = token_count{1'000'000}};
    settings.turns = parse_quantiles("p0:2,p100:2");
    double fresh = 0, turns = 0;
    for (const request& row : generate(settings)) {
      auto all = documents_of(row);
      if (row.turn == 1) {
        std::set<content_id> different{all.begin(), all.end()};
        fresh += different.size() > 2;
        ++turns;
      }
    }
    return fresh / turns;
  };
  EXPECT_EQ(new_documents(0), 1);
  EXPECT_NEAR(new_documents(0.7), 0.3, 0.04);
  EXPECT_EQ(new_documents(1), 0);
}

TEST(generator_options, tenants_share_nothing) {
  generator_settings settings{.sessions = 3000,
                              .requests = 0,
                              .turns_mean = 1,
                              .system_prompts = 1,
                              .rag_share = 0,
                              .tenants = 3,
                              .tenant_zipf = 1};
  std::map<std::uint64_t, int> sessions;
  std::map<block_key, std::set<std::uint64_t>> salts;
  std::set<content_id> prompts;
  key_scheme scheme{token_count{16}, token_count{0}};
  std::vector<block_key> keys;
  for (const request& row : generate(settings)) {
    EXPECT_NE(row.salt, 0u);
    ++sessions[row.salt];
    block_keys(row, scheme, keys);
    salts[keys.at(0)].insert(row.salt);
    prompts.insert(row.segments.at(0).content);
  }
  ASSERT_EQ(sessions.size(), 3u);
  std::vector<int> shares;
  for (auto [salt, count] : sessions) {
    shares.push_back(count);
  }
  std::sort(shares.rbegin(), shares.rend());
  EXPECT_NEAR(shares[0], 3000 * 6 / 11, 120);
  EXPECT_NEAR(shares[2], 3000 * 2 / 11, 90);
  EXPECT_EQ(salts.size(), 3u);
  EXPECT_EQ(prompts.size(), 1u);
  settings.tenant_system_prompts = true;
  prompts.clear();
  for (const request& row : generate(settings)) {
    prompts.insert(row.segments.at(0).content);
  }
  EXPECT_EQ(prompts.size(), 3u);
}

TEST(generator_options, single_turns_and_followups_have_questions_of_their_own) {
  generator_settings settings{
      .sessions = 5000, .requests = 0, .single_turn_share = 0.4, .rag_share = 0};
  settings.turns = parse_quantiles("p0:3,p100:3");
  settings.question_tokens.quantiles = parse_quantiles("p0:1000,p100:1000");
  settings.single_question_tokens.quantiles = parse_quantiles("p0:10,p100:10");
  settings.followup_tokens.quantiles = parse_quantiles("p0:300,p100:300");
  settings.system_share = 0.25;
  int singles = 0, prompts = 0;
  for (const request& row : generate(settings)) {
    bool is_single = row.turn == 0 && row.last_turn;
    singles += is_single;
    prompts += row.turn == 0 && row.segments.at(0).kind == segment_kind::system;
    EXPECT_EQ(row.segments.back().tokens, is_single ? 10 : row.turn == 0 ? 1000 : 300);
    EXPECT_TRUE(is_single || row.last_turn == (row.turn == 2));
  }
  EXPECT_NEAR(singles, 2000, 120);
  EXPECT_NEAR(prompts, 1250, 110);
}

TEST(generator_options, later_turns_keep_the_front_of_the_turn_before) {
  for (bool recur : {true, false}) {
    generator_settings settings{
        .sessions = 50, .requests = 0, .system_prompts = 0, .rag_share = 0, .answers_recur = recur};
    settings.turns = parse_quantiles("p0:2,p100:2");
    settings.history_kept = parse_quantiles("p0:0.5,p100:0.5");
    settings.question_tokens.quantiles = parse_quantiles("p0:100,p100:100");
    settings.output_tokens.quantiles = parse_quantiles("p0:300,p100:300");
    content_id first;
    for (const request& row : generate(settings)) {
      if (row.turn == 0) {
        first = row.segments.at(0).content;
        EXPECT_EQ(row.answer != content_id{}, recur);
        continue;
      }
      EXPECT_EQ(row.segments.at(0).content, first);
      EXPECT_EQ(row.segments.at(0).tokens, recur ? 100 : 50);
      EXPECT_EQ(row.segments.size(), recur ? 3u : 2u);
      EXPECT_EQ(row.input_tokens, recur ? 300 : 150);
      if (recur) {
        EXPECT_EQ(row.segments[1].tokens, 100) << "of the answer's 300";
      }
    }
  }
}

TEST(generator_options, replayed_arrivals_end_the_workload) {
  generator_settings inner{.sessions = 20, .requests = 0};
  generator_settings settings{.requests = 0, .turns_mean = 1};
  settings.arrivals.kind = arrival_kind::replayed;
  settings.arrivals.replay = [inner] { return make_generator(inner, 4); };
  auto rows = generate(settings);
  ASSERT_EQ(rows.size(), 20u);
  std::vector<sim_time> starts;
  for (const request& row : generate(inner, 4)) {
    if (row.turn == 0) {
      starts.push_back(row.arrival);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].arrival, starts[i]);
  }
}

TEST(generator_options, are_refused_out_of_range_by_their_key) {
  auto error = [](const generator_settings& settings) {
    return error_of([&] { make_generator(settings, 1); });
  };
  EXPECT_EQ(error({.single_turn_share = 2}), "workload.single_turn_share: must be between 0 and 1");
  EXPECT_EQ(error({.document_repeat = -1}), "workload.document_repeat: must be between 0 and 1");
  EXPECT_EQ(error({.document_drift = NAN}), "workload.document_drift: must be 0 to 1e9");
  EXPECT_EQ(error({.tenants = 0}), "workload.tenants: must be 1 to 1e7");
  generator_settings settings;
  settings.history_kept = parse_quantiles("p0:0,p100:1.5");
  EXPECT_EQ(error(settings), "workload.history_kept_quantiles: must be between 0 and 1");
}

}  // namespace
}  // namespace refrain
