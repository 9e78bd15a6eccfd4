#include "traces/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temp_files.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

using testing::ElementsAre;

request with_ids(std::int64_t input, std::vector<block_key> ids) {
  request row;
  row.input_tokens = token_count{input};
  row.output_tokens = token_count{100};
  row.blocks = std::move(ids);
  return row;
}

request with_segments(std::vector<segment> segments, std::int64_t output, std::uint64_t answer) {
  request row;
  for (const segment& piece : segments) {
    row.input_tokens += piece.tokens;
  }
  row.segments = std::move(segments);
  row.output_tokens = token_count{output};
  row.answer = content_id{answer};
  return row;
}

segment piece(std::uint64_t content, std::int64_t tokens) {
  return {content_id{content}, token_count{tokens}, segment_kind::question};
}

key_scheme scheme(std::int64_t block, std::int64_t trace_block = 0, bool full_only = false) {
  return {token_count{block}, token_count{trace_block}, full_only};
}

struct found {
  std::vector<block_key> keys;
  std::size_t in_prompt;
};

found keys_of(const request& row, const key_scheme& how) {
  found result;
  result.in_prompt = block_keys(row, how, result.keys);
  return result;
}

TEST(block_keys, are_the_traces_ids_where_the_block_is_the_traces) {
  auto row = with_ids(1030, {block_key{0}, block_key{9}, block_key{4}});
  EXPECT_THAT(keys_of(row, scheme(512, 512)).keys,
              ElementsAre(block_key{0}, block_key{9}, block_key{4}));
  EXPECT_EQ(keys_of(row, scheme(512, 512)).in_prompt, 3u);
  EXPECT_THAT(keys_of(row, scheme(512, 512, true)).keys, ElementsAre(block_key{0}, block_key{9}));
}

TEST(block_keys, cut_an_id_into_as_many_sub_blocks_as_the_prompt_needs) {
  auto row = with_ids(520, {block_key{7}, block_key{8}});
  EXPECT_THAT(keys_of(row, scheme(256, 512)).keys,
              ElementsAre(block_key{mix64(7, 0)}, block_key{mix64(7, 1)}, block_key{mix64(8, 0)}));
  EXPECT_EQ(keys_of(row, scheme(256, 512, true)).keys.size(), 2u);
  auto full_ids_only = with_ids(1000, {block_key{7}});
  EXPECT_EQ(keys_of(full_ids_only, scheme(256, 512)).keys.size(), 2u)
      << "tokens without an id have no key";
}

TEST(block_keys, of_object_traces_are_the_ids) {
  EXPECT_THAT(keys_of(with_ids(0, {block_key{5}}), scheme(16)).keys, ElementsAre(block_key{5}));
}

TEST(block_keys, of_lengths_alone_are_none) {
  request row;
  row.input_tokens = token_count{1000};
  EXPECT_TRUE(keys_of(row, scheme(16)).keys.empty());
}

TEST(block_keys, of_segments_stand_for_full_blocks_only) {
  auto row = with_segments({piece(1, 10), piece(2, 25)}, 40, 0);
  EXPECT_EQ(keys_of(row, scheme(16)).keys.size(), 2u);
  EXPECT_EQ(keys_of(row, scheme(16)).in_prompt, 2u);
  EXPECT_EQ(keys_of(row, scheme(35)).keys.size(), 1u);
  EXPECT_EQ(keys_of(row, scheme(36)).keys.size(), 0u);
}

TEST(block_keys, chain_so_that_only_equal_prefixes_share_them) {
  auto a = keys_of(with_segments({piece(1, 32), piece(2, 32)}, 1, 0), scheme(16)).keys;
  auto b = keys_of(with_segments({piece(1, 32), piece(3, 32)}, 1, 0), scheme(16)).keys;
  auto c = keys_of(with_segments({piece(3, 32), piece(2, 32)}, 1, 0), scheme(16)).keys;
  auto d = keys_of(with_segments({piece(1, 31), piece(2, 33)}, 1, 0), scheme(16)).keys;
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 2, b.begin()));
  EXPECT_NE(a[2], b[2]);
  EXPECT_NE(a[0], c[0]);
  EXPECT_NE(a[3], c[3]) << "same content, other past";
  EXPECT_EQ(a[0], d[0]);
  EXPECT_NE(a[1], d[1]) << "the second block holds another piece";
}

TEST(block_keys, go_on_through_an_answer_that_the_next_turn_contains) {
  auto first = with_segments({piece(1, 20)}, 30, 9);
  auto next = with_segments({piece(1, 20), piece(9, 30), piece(4, 20)}, 5, 0);
  auto a = keys_of(first, scheme(16));
  auto b = keys_of(next, scheme(16));
  EXPECT_EQ(a.in_prompt, 1u);
  ASSERT_EQ(a.keys.size(), 3u) << "20 + 29 tokens have KV";
  ASSERT_EQ(b.keys.size(), 4u);
  EXPECT_TRUE(std::equal(a.keys.begin(), a.keys.end(), b.keys.begin()));
  first.answer = content_id{};
  EXPECT_EQ(keys_of(first, scheme(16)).keys.size(), 1u);
}

TEST(block_keys, never_cover_the_last_output_token) {
  EXPECT_EQ(keys_of(with_segments({piece(1, 16)}, 16, 9), scheme(16)).keys.size(), 1u);
  EXPECT_EQ(keys_of(with_segments({piece(1, 16)}, 17, 9), scheme(16)).keys.size(), 2u);
  EXPECT_EQ(keys_of(with_segments({piece(1, 16)}, 0, 9), scheme(16)).keys.size(), 1u);
}

TEST(block_keys, stop_where_the_prompt_is_not_named) {
  auto row = with_segments({piece(1, 40)}, 100, 9);
  row.input_tokens = token_count{50};
  EXPECT_EQ(keys_of(row, scheme(16)).keys.size(), 2u);
  row.input_tokens = token_count{20};
  EXPECT_EQ(keys_of(row, scheme(16)).in_prompt, 1u);
}

TEST(block_keys, differ_between_salts) {
  auto ids = with_ids(512, {block_key{3}});
  auto named = with_segments({piece(1, 16)}, 1, 0);
  auto id_key = keys_of(ids, scheme(512, 512)).keys.at(0);
  auto named_key = keys_of(named, scheme(16)).keys.at(0);
  ids.salt = named.salt = 1;
  auto salted = keys_of(ids, scheme(512, 512)).keys.at(0);
  EXPECT_NE(salted, id_key);
  EXPECT_NE(keys_of(named, scheme(16)).keys.at(0), named_key);
  ids.salt = 2;
  EXPECT_NE(keys_of(ids, scheme(512, 512)).keys.at(0), salted);
}

TEST(key_scheme, refuses_a_block_that_does_not_divide_the_traces) {
  EXPECT_EQ(error_of([] { scheme(100, 512); }),
            "kv.block_tokens: 100 does not divide the trace's blocks of 512 tokens; the nearest "
            "that does is 128");
  EXPECT_EQ(error_of([] { scheme(1024, 512); }).substr(0, 21), "kv.block_tokens: 1024");
  EXPECT_EQ(error_of([] { scheme(0, 512); }), "kv.block_tokens: must be at least 1");
  EXPECT_EQ(error_of([] { scheme(17, 0); }), "");
}

}  // namespace
}  // namespace refrain
