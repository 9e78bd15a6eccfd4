// Which tokens prompts have where they are computed.
#include "actors/token_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace refrain {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

constexpr std::int64_t vocabulary = 1000;

request of_segments(std::initializer_list<segment> segments, std::int64_t input) {
  request row{};
  row.segments = segments;
  row.input_tokens = token_count{input};
  row.output_tokens = token_count{5};
  return row;
}

segment piece(std::uint64_t content, std::int64_t tokens) {
  return {content_id{content}, token_count{tokens}, segment_kind::document};
}

std::vector<token_id> tokens_of_segments(const request& row, const token_book* words = nullptr) {
  key_scheme scheme{token_count{4}, token_count{0}};
  std::vector<block_key> keys;
  block_keys(row, scheme, keys);
  return tokens_of(row, scheme, keys, vocabulary, words);
}

TEST(tokens, are_as_many_as_the_prompt_has_and_below_the_vocabulary) {
  std::vector<token_id> tokens = tokens_of_segments(of_segments({piece(1, 30), piece(2, 20)}, 60));
  EXPECT_EQ(tokens.size(), 60u);
  EXPECT_THAT(tokens, Each(Ge(0)));
  EXPECT_THAT(tokens, Each(Lt(vocabulary)));
}

TEST(tokens, of_equal_content_are_equal_wherever_it_stands) {
  std::vector<token_id> a = tokens_of_segments(of_segments({piece(1, 30), piece(2, 20)}, 50));
  std::vector<token_id> b = tokens_of_segments(of_segments({piece(2, 20), piece(1, 30)}, 50));
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 30, b.begin() + 20));
  EXPECT_TRUE(std::equal(a.begin() + 30, a.end(), b.begin()));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 20, b.begin()));
}

TEST(tokens, that_nothing_names_are_the_requests_own) {
  request one = of_segments({piece(1, 10)}, 30);
  request two = one;
  two.id = request_id{1};
  std::vector<token_id> a = tokens_of_segments(one);
  std::vector<token_id> b = tokens_of_segments(two);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 10, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + 10, a.end(), b.begin() + 10));
}

TEST(tokens, of_an_answer_are_those_that_a_later_prompt_has) {
  request first = of_segments({piece(1, 10)}, 10);
  first.answer = content_id{7};
  request second = of_segments({piece(1, 10), piece(7, 5), piece(3, 4)}, 19);
  std::vector<token_id> a = tokens_of_segments(first);
  std::vector<token_id> b = tokens_of_segments(second);
  ASSERT_EQ(a.size(), 15u);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(tokens, of_blocks_of_a_trace_follow_its_ids) {
  key_scheme scheme{token_count{4}, token_count{4}};
  request one{};
  one.blocks = {block_key{11}, block_key{12}, block_key{13}};
  one.input_tokens = token_count{12};
  request two = one;
  two.id = request_id{9};
  two.blocks[2] = block_key{14};
  auto tokens = [&](const request& row) {
    std::vector<block_key> keys;
    block_keys(row, scheme, keys);
    return tokens_of(row, scheme, keys, vocabulary);
  };
  std::vector<token_id> a = tokens(one);
  std::vector<token_id> b = tokens(two);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 8, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + 8, a.end(), b.begin() + 8));
}

TEST(tokens, of_a_text_are_the_tokenizers) {
  token_book words{
      [](std::string_view text) { return std::vector<token_id>(text.begin(), text.end()); }, 256};
  EXPECT_EQ(words.add(content_id{1}, "abc"), 3);
  EXPECT_EQ(words.add(content_id{1}, "abc"), 3);
  EXPECT_EQ(words.add(content_id{2}, ""), 0);
  EXPECT_THAT(tokens_of_segments(of_segments({piece(1, 3)}, 3), &words),
              ElementsAre('a', 'b', 'c'));
  // A text that is cut keeps its beginning; content without a text is made up.
  EXPECT_THAT(tokens_of_segments(of_segments({piece(1, 3)}, 2), &words), ElementsAre('a', 'b'));
  EXPECT_EQ(tokens_of_segments(of_segments({piece(5, 3)}, 3), &words),
            tokens_of_segments(of_segments({piece(5, 3)}, 3)));
  EXPECT_TRUE(words.tokens(content_id{9}).empty());
}

}  // namespace
}  // namespace refrain
