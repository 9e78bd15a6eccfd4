#include "traces/texts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "traces/error.hpp"

namespace refrain {
namespace {

std::string refusal_of(text_store& texts, std::vector<float> embedding) {
  try {
    texts.add(content_id{1}, embedding, {}, "texts.jsonl:3");
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

TEST(texts, refuse_embeddings_of_another_width_or_without_direction) {
  text_store texts{3};
  EXPECT_EQ(refusal_of(texts, {1, 2}), "texts.jsonl:3: an embedding of 2 numbers; expected 3");
  float nan = std::numeric_limits<float>::quiet_NaN();
  float infinity = std::numeric_limits<float>::infinity();
  for (float wrong : {nan, infinity}) {
    EXPECT_EQ(refusal_of(texts, {1, wrong, 3}),
              "texts.jsonl:3: an embedding holds a number that is not finite");
  }
  EXPECT_EQ(refusal_of(texts, {0, 0, 0}),
            "texts.jsonl:3: an embedding is all zeros, so it has no direction");
  EXPECT_EQ(refusal_of(texts, {1, 2, 3}), "");
  EXPECT_EQ(texts.embedding(content_id{1}).size(), 3u);
  EXPECT_TRUE(texts.embedding(content_id{2}).empty());
}

TEST(texts, are_as_alike_as_the_angle_between_their_embeddings_is_small) {
  std::vector<float> a{1, 0}, b{0, 2}, c{3, 3};
  EXPECT_DOUBLE_EQ(cosine_of(a, a), 1);
  EXPECT_DOUBLE_EQ(cosine_of(a, b), 0);
  EXPECT_NEAR(cosine_of(a, c), std::sqrt(0.5), 1e-12);
  EXPECT_TRUE(std::isnan(cosine_of(a, {})));
}

TEST(texts, are_as_alike_as_few_edits_turn_one_into_the_other) {
  std::vector<std::uint32_t> kitten{1, 2, 3, 3, 4, 5}, sitting{6, 2, 3, 3, 2, 5, 7};
  EXPECT_DOUBLE_EQ(levenshtein_ratio(kitten, sitting), 1 - 3.0 / 7);
  EXPECT_DOUBLE_EQ(levenshtein_ratio(sitting, kitten), 1 - 3.0 / 7);
  EXPECT_DOUBLE_EQ(levenshtein_ratio(kitten, kitten), 1);
  EXPECT_TRUE(std::isnan(levenshtein_ratio(kitten, {})));
}

}  // namespace
}  // namespace refrain
