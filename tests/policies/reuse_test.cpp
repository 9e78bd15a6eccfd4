// Reuse policies by themselves, and what orders of documents are worth.
#include "policies/reuse.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "traces/chunks.hpp"
#include "traces/generator.hpp"

namespace refrain {
namespace {

std::unique_ptr<reuse> make(const std::string& name, const given_parameters& given = {}) {
  const reuse_entry& entry = registry<reuse_entry>::find(name, "test");
  return entry.make(parameters{entry.info.parameters, given, "test"});
}

chunk_offer offer_of(std::int64_t tokens) {
  return {.input_tokens = token_count{1000},
          .tokens = token_count{tokens},
          .resident = token_count{tokens}};
}

TEST(chunk_reuse, computes_a_share_of_a_chunk_again_and_takes_nothing_at_one) {
  EXPECT_EQ(make("chunk", {{"r", "0"}})->blend(offer_of(100))->recomputed, 0);
  EXPECT_EQ(make("chunk", {{"r", "0.15"}})->blend(offer_of(100))->recomputed, 15);
  EXPECT_EQ(make("chunk", {{"r", "0.15"}})->blend(offer_of(101))->recomputed, 16);
  EXPECT_FALSE(make("chunk", {{"r", "1"}})->blend(offer_of(100)).has_value());
  EXPECT_FALSE(make("chunk", {{"min_tokens", "101"}})->blend(offer_of(100)).has_value());
}

TEST(chunk_reuse, leaves_the_exact_prefix_alone_where_told_so) {
  reuse_offer prefix{token_count{1000}, 7, token_count{112}};
  EXPECT_EQ(make("chunk")->plan(prefix), 7);
  EXPECT_EQ(make("chunk", {{"exact_prefix", "false"}})->plan(prefix), 0);
}

text_likeness alike(double cosine, double levenshtein, bool same) {
  return {.cosine = cosine, .levenshtein = levenshtein, .same_tokens = same};
}

TEST(similar_reuse, asks_for_the_cosine_first_and_adds_or_asks_for_more) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  auto plain = make("similar", {{"match", "cosine"}});
  auto either = make("similar");
  auto both = make("similar", {{"match", "and_tokens"}});
  EXPECT_TRUE(plain->accepts(alike(0.85, 0, false)));
  EXPECT_FALSE(plain->accepts(alike(0.849, 1, true)));
  EXPECT_TRUE(either->accepts(alike(0.2, 0.8, false)));
  EXPECT_TRUE(either->accepts(alike(none, 0.8, false)));
  EXPECT_FALSE(either->accepts(alike(none, none, false)));
  EXPECT_FALSE(either->accepts(alike(0.84, 0.79, true)));
  EXPECT_FALSE(both->accepts(alike(0.99, 0.99, false))) << "fee 2 % for fee 3 %";
  EXPECT_TRUE(both->accepts(alike(0.9, 1, true)));
  EXPECT_FALSE(both->accepts(alike(0.5, 1, true)));
}

TEST(similar_reuse, takes_so_many_tokens_at_most_and_only_if_enough_of_the_prompt_is_reused) {
  auto policy = make("similar", {{"max_cache_span", "64"}});
  EXPECT_EQ(policy->blend(offer_of(100))->taken, 64);
  EXPECT_EQ(policy->blend(offer_of(10))->taken, 10);
  EXPECT_TRUE(
      policy->is_worth({token_count{100}, token_count{20}, token_count{30}, token_count{10}}));
  EXPECT_FALSE(
      policy->is_worth({token_count{100}, token_count{20}, token_count{30}, token_count{9}}));
}

std::optional<std::uint32_t> version(reuse& policy, std::uint32_t current, double at_s) {
  return policy.version_of({content_id{1}, current, from_seconds(at_s)});
}

TEST(versioned_reuse, stores_the_version_it_saw) {
  auto always = make("versioned");
  EXPECT_EQ(version(*always, 1, 0), 1u);
  EXPECT_EQ(version(*always, 2, 1), 2u);
  EXPECT_EQ(version(*always, 2, 2), 2u) << "what was computed after the update is found again";
  EXPECT_EQ(version(*always, 1, 3), 1u) << "a version that is back may hit again";
}

TEST(versioned_reuse, believes_for_a_while_or_for_ever_or_never_learns) {
  auto ttl = make("versioned", {{"check", "ttl"}, {"ttl", "10s"}});
  EXPECT_EQ(version(*ttl, 1, 0), 1u);
  EXPECT_EQ(version(*ttl, 2, 9.9), 1u);
  EXPECT_EQ(version(*ttl, 2, 10), 2u);
  auto never = make("versioned", {{"check", "never"}});
  EXPECT_EQ(version(*never, 1, 0), 1u);
  EXPECT_EQ(version(*never, 9, 1e9), 1u);
  auto forgetful = make("versioned", {{"stores", "false"}});
  EXPECT_EQ(version(*forgetful, 1, 0), 1u);
  EXPECT_EQ(version(*forgetful, 1, 1), 1u);
  EXPECT_EQ(version(*forgetful, 2, 2), std::nullopt);
  EXPECT_EQ(version(*forgetful, 2, 3), std::nullopt) << "invalid for ever";
}

// The order model: 10,000 documents of equal length by Zipf's law, k of them a query, duplicates
// redrawn, an endless cache, the second half of 20,000 queries.
struct reused_share {
  double prefix;
  double anywhere;
};

reused_share order_model(double zipf, std::uint32_t documents, reuse* policy) {
  generator_settings settings{.requests = 20'000, .turns_mean = 1, .system_prompts = 0};
  settings.rag_share = 1;
  settings.document_tokens = {100, 0};
  settings.document_zipf = zipf;
  settings.documents_per_turn = documents;
  settings.redraws_duplicates = true;
  auto rows = make_generator(settings, 1);
  chunk_sequences seen;
  chunk_counts counts;
  for (request row; rows->next(row);) {
    std::span<segment> drawn{row.segments.data(), documents};
    if (policy != nullptr) {
      policy->order(drawn, 0);
    }
    seen.begin(0);
    for (const segment& document : drawn) {
      if (row.id >= 10'000) {
        seen.add(document, {&counts});
      } else {
        seen.add(document, {});
      }
    }
    seen.end(content_id{});
  }
  auto all = static_cast<double>(counts.accesses);
  return {static_cast<double>(counts.prefix_hits) / all, static_cast<double>(counts.hits) / all};
}

struct model_row {
  double zipf;
  std::uint32_t documents;
  double retrieval, canonical, aware, anywhere;
};

TEST(the_order_model, gives_the_published_shares_within_a_hundredth) {
  std::vector<model_row> published{
      {0.7, 3, .27, .34, .34, .95}, {0.7, 5, .16, .25, .25, .99}, {0.7, 10, .08, .17, .18, 1.0},
      {0.9, 3, .31, .44, .45, .94}, {0.9, 5, .19, .36, .36, .97}, {0.9, 10, .10, .27, .28, 1.0},
      {1.1, 3, .44, .61, .61, .94}, {1.1, 5, .27, .52, .52, .96}, {1.1, 10, .13, .41, .42, .99}};
  for (std::size_t i = 0; i < published.size(); i += refrain_debug_checks ? 4 : 1) {
    const model_row& row = published[i];
    SCOPED_TRACE(testing::Message() << row.zipf << " " << row.documents);
    auto canonical = make("reorder", {{"order", "canonical"}});
    auto aware = make("reorder", {{"order", "cache_aware"}});
    reused_share as_drawn = order_model(row.zipf, row.documents, nullptr);
    EXPECT_NEAR(as_drawn.prefix, row.retrieval, 0.01);
    EXPECT_NEAR(as_drawn.anywhere, row.anywhere, 0.01);
    EXPECT_NEAR(order_model(row.zipf, row.documents, canonical.get()).prefix, row.canonical, 0.01);
    EXPECT_NEAR(order_model(row.zipf, row.documents, aware.get()).prefix, row.aware, 0.01);
  }
}

TEST(reorder, only_changes_the_order) {
  auto policy = make("reorder");
  std::vector<segment> documents;
  for (std::uint64_t i : {5, 3, 9, 3}) {
    documents.push_back(
        {content_id{i}, token_count{static_cast<std::int64_t>(i)}, segment_kind::document});
  }
  for (int round = 0; round < 3; ++round) {
    policy->order(documents, 1);
    std::map<std::uint64_t, int> counts;
    for (const segment& document : documents) {
      ++counts[document.content];
      EXPECT_EQ(document.tokens, static_cast<std::int64_t>(document.content));
    }
    EXPECT_EQ(counts, (std::map<std::uint64_t, int>{{3, 2}, {5, 1}, {9, 1}}));
  }
}

TEST(reorder, cache_aware_follows_the_prompt_that_was_sent_before) {
  auto policy = make("reorder");
  auto order = [&](std::vector<std::uint64_t> ids) {
    std::vector<segment> documents;
    for (std::uint64_t id : ids) {
      documents.push_back({content_id{id}, token_count{10}, segment_kind::document});
    }
    policy->order(documents, 1);
    std::vector<std::uint64_t> result;
    for (const segment& document : documents) {
      result.push_back(document.content);
    }
    return result;
  };
  using ids = std::vector<std::uint64_t>;
  EXPECT_EQ(order({7, 4}), (ids{4, 7}));
  EXPECT_EQ(order({9, 7}), (ids{7, 9})) << "asked for before, though nothing begins with it";
  EXPECT_EQ(order({9, 7, 4}), (ids{7, 9, 4})) << "7 and 4 both begin prompts; 7 is more popular";
  EXPECT_EQ(order({1, 9, 7}), (ids{7, 9, 1}));
}

}  // namespace
}  // namespace refrain
