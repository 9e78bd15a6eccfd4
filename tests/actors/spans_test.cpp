// Spans of reused KV: how far a budget comes, and what an engine is told.
#include <gtest/gtest.h>

#include "actors/reused_spans.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

reused_span span(std::int64_t begin, std::int64_t end, std::int64_t recomputed,
                 blend_placement placement) {
  return {.begin = token_count{begin},
          .end = token_count{end},
          .recomputed = token_count{recomputed},
          .placement = placement};
}

reused_spans random_spans(random_stream& draws, std::int64_t tokens) {
  reused_spans spans;
  std::int64_t at = static_cast<std::int64_t>(draws.below(30));
  while (at + 40 < tokens) {
    std::int64_t length = 1 + static_cast<std::int64_t>(draws.below(40));
    auto again = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(length) + 1));
    spans.push_back(span(at, at + length, again, static_cast<blend_placement>(draws.below(3))));
    at += length + static_cast<std::int64_t>(draws.below(30));
  }
  return spans;
}

TEST(spans, leave_as_much_work_as_is_not_saved_however_it_is_cut) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    random_stream draws{seed, "spans"};
    token_count all{400};
    reused_spans spans = random_spans(draws, all);
    token_count saved;
    for (const reused_span& each : spans) {
      saved += each.saved();
    }
    EXPECT_EQ(work_between(spans, token_count{}, all), all - saved);
    token_count at, work;
    while (at < all) {
      auto budget = static_cast<std::int64_t>(1 + draws.below(60));
      token_count to = reach(spans, at, all, budget);
      ASSERT_GT(to, at);
      prefill_chunk chunk = chunk_of(spans, at, to);
      EXPECT_EQ(chunk.new_tokens, work_between(spans, at, to));
      EXPECT_LE(chunk.new_tokens, budget);
      EXPECT_TRUE(chunk.new_tokens == budget || to == all);
      EXPECT_EQ(chunk.cached_tokens + chunk.new_tokens + chunk.other_keys, to);
      work += chunk.new_tokens;
      at = to;
    }
    EXPECT_EQ(work, all - saved);
  }
}

TEST(spans, without_any_are_plain_prefill) {
  prefill_chunk chunk = chunk_of({}, token_count{30}, token_count{80});
  EXPECT_EQ(chunk.new_tokens, 50);
  EXPECT_EQ(chunk.cached_tokens, 30);
  EXPECT_EQ(chunk.other_keys + chunk.rotated_tokens + chunk.first_layer_tokens, 0);
  EXPECT_EQ(reach({}, token_count{30}, token_count{80}, 20), 50);
}

TEST(spans, are_rotated_where_they_are_taken_and_looked_at_where_deviations_are_sought) {
  for (auto placement :
       {blend_placement::deviation, blend_placement::spread, blend_placement::head}) {
    reused_spans spans{span(100, 200, 10, placement)};
    prefill_chunk chunk = chunk_of(spans, token_count{100}, token_count{220});
    EXPECT_EQ(chunk.new_tokens, 30);
    EXPECT_EQ(chunk.rotated_tokens, 90);
    EXPECT_EQ(chunk.first_layer_tokens, placement == blend_placement::deviation ? 90 : 0);
  }
  prefill_chunk pure =
      chunk_of({span(100, 200, 0, blend_placement::deviation)}, token_count{100}, token_count{220});
  EXPECT_EQ(pure.first_layer_tokens, 0) << "nothing is computed again, so nothing is sought";
}

TEST(spans, compute_the_head_or_a_pattern_again) {
  reused_span head = span(100, 200, 10, blend_placement::head);
  EXPECT_EQ(head.recomputed_before(token_count{105}), 5);
  EXPECT_EQ(head.recomputed_before(token_count{150}), 10);
  reused_span spread = span(100, 200, 10, blend_placement::spread);
  EXPECT_EQ(spread.recomputed_before(token_count{109}), 0);
  EXPECT_EQ(spread.recomputed_before(token_count{110}), 1);
  EXPECT_EQ(spread.recomputed_before(token_count{200}), 10);
}

}  // namespace
}  // namespace refrain
