#include "traces/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "temp_files.hpp"
#include "traces/keys.hpp"

namespace refrain {
namespace {

std::vector<request> generate(const generator_settings& settings, std::uint64_t seed = 1) {
  auto rows = make_generator(settings, seed);
  return read_all(*rows);
}

bool same(const request& a, const request& b) {
  auto same_segments =
      std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                 [](const segment& x, const segment& y) {
                   return x.content == y.content && x.tokens == y.tokens && x.kind == y.kind;
                 });
  return same_segments && a.id == b.id && a.session == b.session && a.arrival == b.arrival &&
         a.delay == b.delay && a.output_tokens == b.output_tokens && a.answer == b.answer;
}

TEST(generator, gives_the_same_requests_for_the_same_seed_only) {
  auto first = generate({.requests = 200}, 7);
  auto again = generate({.requests = 200}, 7);
  auto other = generate({.requests = 200}, 8);
  ASSERT_EQ(first.size(), 200u);
  ASSERT_EQ(again.size(), 200u);
  int equal = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(same(first[i], again[i]));
    equal += same(first[i], other[i]);
  }
  EXPECT_EQ(equal, 0);
}

TEST(generator, emits_whole_sessions_in_order_of_their_start) {
  auto rows = generate({.sessions = 300, .requests = 0, .turns_mean = 4});
  std::uint64_t sessions = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool starts = i == 0 || rows[i - 1].last_turn;
    EXPECT_EQ(rows[i].id.get(), i);
    EXPECT_EQ(rows[i].turn, starts ? 0 : rows[i - 1].turn + 1);
    EXPECT_EQ(rows[i].delay > sim_time{0}, !starts);
    if (i > 0) {
      EXPECT_EQ(rows[i].session.get(), rows[i - 1].session.get() + (starts ? 1 : 0));
      EXPECT_TRUE(starts ? rows[i].arrival > rows[i - 1].arrival
                         : rows[i].arrival == rows[i - 1].arrival);
    }
    sessions += rows[i].last_turn;
  }
  EXPECT_EQ(sessions, 300u);
  EXPECT_TRUE(rows.back().last_turn);
}

TEST(generator, cuts_the_last_session_at_the_number_of_requests) {
  for (std::uint64_t requests : {1, 2, 3, 17}) {
    auto rows = generate({.requests = requests, .turns_mean = 50});
    ASSERT_EQ(rows.size(), requests);
    EXPECT_TRUE(rows.back().last_turn);
    EXPECT_EQ(rows.back().answer, content_id{});
  }
}

TEST(generator, makes_each_prompt_an_exact_extension_of_the_last_and_its_answer) {
  auto rows = generate({.requests = 500, .turns_mean = 5});
  int extensions = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    token_count sum;
    for (const segment& piece : rows[i].segments) {
      sum += piece.tokens;
      EXPECT_GT(piece.tokens, 0);
      EXPECT_NE(piece.content, content_id{});
    }
    EXPECT_EQ(sum, rows[i].input_tokens);
    EXPECT_EQ(rows[i].answer == content_id{}, rows[i].last_turn);
    if (rows[i].turn == 0) {
      continue;
    }
    ++extensions;
    auto before = rows[i - 1].segments;
    before.push_back({rows[i - 1].answer, rows[i - 1].output_tokens, segment_kind::answer});
    ASSERT_GT(rows[i].segments.size(), before.size());
    for (std::size_t j = 0; j < before.size(); ++j) {
      EXPECT_EQ(rows[i].segments[j].content, before[j].content);
      EXPECT_EQ(rows[i].segments[j].tokens, before[j].tokens);
    }
  }
  EXPECT_GT(extensions, 200);
}

TEST(generator, lets_the_next_turn_find_every_block_that_a_turn_leaves) {
  auto rows = generate({.requests = 300, .turns_mean = 6});
  key_scheme scheme{token_count{16}, token_count{0}};
  std::vector<block_key> before, keys;
  for (const request& row : rows) {
    std::size_t in_prompt = block_keys(row, scheme, keys);
    EXPECT_EQ(in_prompt, static_cast<std::size_t>(row.input_tokens / 16));
    if (row.turn > 0) {
      ASSERT_LE(before.size(), in_prompt);
      EXPECT_TRUE(std::equal(before.begin(), before.end(), keys.begin()));
    }
    before = keys;
  }
}

TEST(generator, names_contents_of_two_kinds_differently) {
  auto rows = generate({.requests = 400});
  std::map<content_id, std::set<segment_kind>> kinds;
  for (const request& row : rows) {
    for (const segment& piece : row.segments) {
      kinds[piece.content].insert(piece.kind);
    }
  }
  for (const auto& [content, of] : kinds) {
    EXPECT_EQ(of.size(), 1u) << content;
  }
}

TEST(generator, mixes_chat_and_retrieval_by_their_share) {
  auto rows = generate({.sessions = 2000,
                        .requests = 0,
                        .turns_mean = 1,
                        .rag_share = 0.25,
                        .documents_per_turn = 3});
  int retrieving = 0;
  for (const request& row : rows) {
    std::set<content_id> documents;
    for (const segment& piece : row.segments) {
      if (piece.kind == segment_kind::document) {
        documents.insert(piece.content);
      }
    }
    EXPECT_TRUE(documents.empty() || documents.size() == 3) << "distinct documents";
    retrieving += !documents.empty();
  }
  EXPECT_NEAR(retrieving, 500, 100);
}

TEST(generator, follows_its_rates_and_means) {
  generator_settings settings{.sessions_per_second = 4,
                              .sessions = 20'000,
                              .requests = 0,
                              .turns_mean = 2.5,
                              .rag_share = 0};
  auto rows = generate(settings);
  EXPECT_NEAR(static_cast<double>(rows.size()) / 20'000, 2.5, 0.1);
  EXPECT_NEAR(to_seconds(rows.back().arrival), 5000, 200);
  std::vector<double> think, output;
  for (const request& row : rows) {
    output.push_back(static_cast<double>(row.output_tokens));
    if (row.turn > 0) {
      think.push_back(to_seconds(row.delay));
    }
  }
  auto median = [](std::vector<double>& values) {
    auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  EXPECT_NEAR(median(think), 20, 1);
  EXPECT_NEAR(median(output), 192, 6);
}

TEST(generator, prefers_popular_documents_as_zipf_says) {
  auto rows = generate({.sessions = 20'000,
                        .requests = 0,
                        .turns_mean = 1,
                        .rag_share = 1,
                        .documents = 100,
                        .document_zipf = 1,
                        .documents_per_turn = 1});
  std::map<content_id, int> counts;
  for (const request& row : rows) {
    for (const segment& piece : row.segments) {
      counts[piece.content] += piece.kind == segment_kind::document;
    }
  }
  int most = 0;
  for (const auto& [content, count] : counts) {
    most = std::max(most, count);
  }
  double harmonic = 0;
  for (int i = 1; i <= 100; ++i) {
    harmonic += 1.0 / i;
  }
  EXPECT_NEAR(most, 20'000 / harmonic, 300);
}

TEST(generator, never_exceeds_the_longest_prompt) {
  generator_settings settings{
      .requests = 2000, .turns_mean = 30, .rag_share = 0.7, .prompt_tokens_max = token_count{1500}};
  auto rows = generate(settings);
  std::int64_t longest = 0;
  for (const request& row : rows) {
    longest = std::max(longest, row.input_tokens.get());
    EXPECT_EQ(row.segments.back().kind, segment_kind::question);
  }
  EXPECT_LE(longest, 1500);
  EXPECT_GT(longest, 1400);
}

TEST(generator, refuses_settings_out_of_range_by_their_key) {
  auto error = [](const generator_settings& settings) {
    return error_of([&] { make_generator(settings, 1); });
  };
  EXPECT_EQ(error({.sessions_per_second = 0}), "workload.sessions_per_second: must be 1e-6 to 1e9");
  EXPECT_EQ(error({.requests = 0}), "workload.requests: must be above 0 where sessions is 0");
  EXPECT_EQ(error({.turns_mean = 0.5}), "workload.turns_mean: must be 1 to 10,000");
  EXPECT_EQ(error({.documents = 3}), "workload.documents_per_turn: must be at most documents");
  EXPECT_EQ(error({.question_tokens = {-1, 1}}),
            "workload.question_tokens: its median must be above 0 and at most 1e6");
  EXPECT_NE(error({.rag_share = NAN}), "");
  EXPECT_NE(error({.prompt_tokens_max = token_count{512}}), "");
  EXPECT_NE(error({.prompt_tokens_max = content_tokens_max + token_count{1}}), "");
}

}  // namespace
}  // namespace refrain
