// Prompts whose chunks have blocks of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces/keys.hpp"

namespace refrain {
namespace {

using testing::ElementsAre;
using enum segment_kind;

segment piece(segment_kind kind, std::uint64_t content, std::int64_t tokens) {
  return {content_id{content}, token_count{tokens}, kind};
}

struct cut_prompt {
  std::vector<block_key> keys;
  prompt_layout layout;

  std::vector<block_key> of_chunk(std::size_t chunk) const {
    const chunk_place& place = layout.chunks.at(chunk);
    return {keys.begin() + place.first_block, keys.begin() + place.end_block};
  }
};

cut_prompt cut(std::vector<segment> pieces, std::uint64_t salt = 0, std::int64_t more = 0,
               std::uint64_t answer = 0, std::int64_t output = 1) {
  request row{};
  row.segments = std::move(pieces);
  row.salt = salt;
  row.answer = content_id{answer};
  row.output_tokens = token_count{output};
  row.input_tokens = token_count{more};
  for (const segment& each : row.segments) {
    row.input_tokens += each.tokens;
  }
  key_scheme scheme{token_count{16}, token_count{0}};
  scheme.chunk_kinds = kind_bit(document);
  cut_prompt result;
  chunk_keys(row, scheme, result.keys, result.layout);
  return result;
}

TEST(chunk_keys, give_a_chunk_the_same_blocks_wherever_it_stands) {
  cut_prompt a = cut({piece(system, 1, 40), piece(document, 2, 20), piece(document, 3, 32)});
  cut_prompt b = cut({piece(document, 3, 32), piece(system, 1, 7), piece(document, 2, 20)});
  EXPECT_EQ(a.of_chunk(0), b.of_chunk(1));
  EXPECT_EQ(a.of_chunk(1), b.of_chunk(0));
  EXPECT_NE(a.layout.chunks[0].context, b.layout.chunks[1].context);
}

TEST(chunk_keys, cut_blocks_at_the_ends_of_chunks_and_of_the_text_before_them) {
  cut_prompt a = cut({piece(system, 1, 40), piece(document, 2, 20), piece(question, 3, 20)}, 0, 6);
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < 7; ++i) {
    ends.push_back(a.layout.end_of(i));
  }
  EXPECT_THAT(ends, ElementsAre(16, 32, 40, 56, 60, 76, 92));
  EXPECT_EQ(a.keys.size(), 6u) << "of the tail only full blocks have keys";
  EXPECT_EQ(a.layout.blocks_for(token_count{40}), 3);
  EXPECT_EQ(a.layout.blocks_for(token_count{41}), 4);
  EXPECT_EQ(a.layout.blocks_for(token_count{60}), 5);
  EXPECT_EQ(a.layout.blocks_for(token_count{61}), 6);
  EXPECT_EQ(a.layout.blocks_for(token_count{}), 0);
}

TEST(chunk_keys, of_the_text_between_depend_on_all_that_precedes_it) {
  cut_prompt a = cut({piece(document, 2, 20), piece(question, 9, 32)});
  cut_prompt b = cut({piece(document, 3, 20), piece(question, 9, 32)});
  cut_prompt c = cut({piece(document, 2, 20), piece(question, 9, 32)});
  EXPECT_NE(a.keys[2], b.keys[2]);
  EXPECT_EQ(a.keys, c.keys);
}

TEST(chunk_keys, differ_by_salt_and_are_equal_under_an_equal_one) {
  cut_prompt a = cut({piece(document, 2, 40)}, 1);
  EXPECT_EQ(a.keys, cut({piece(document, 2, 40)}, 1).keys);
  for (std::uint64_t other : {0, 2}) {
    cut_prompt b = cut({piece(document, 2, 40)}, other);
    for (std::size_t i = 0; i < a.keys.size(); ++i) {
      EXPECT_NE(a.keys[i], b.keys[i]);
    }
  }
}

TEST(chunk_keys, of_a_named_document_are_by_version_and_chunk_and_not_by_content) {
  auto named = [](std::uint32_t version, std::uint32_t chunk, std::uint64_t content) {
    segment one = piece(document, content, 16);
    one.document = content_id{77};
    one.version = version;
    one.chunk = chunk;
    return cut({one}).keys.front();
  };
  EXPECT_EQ(named(1, 1, 5), named(1, 1, 6));
  EXPECT_NE(named(1, 1, 5), named(2, 1, 5));
  EXPECT_NE(named(1, 1, 5), named(1, 2, 5));
}

TEST(chunk_keys, pass_over_documents_of_no_tokens_and_give_duplicates_the_same_keys) {
  cut_prompt a = cut({piece(document, 2, 0), piece(document, 3, 20), piece(document, 3, 20)});
  ASSERT_EQ(a.layout.chunks.size(), 2u);
  EXPECT_EQ(a.of_chunk(0), a.of_chunk(1));
}

TEST(chunk_keys, go_on_into_an_answer_that_a_later_prompt_repeats) {
  cut_prompt first = cut({piece(document, 2, 20), piece(question, 3, 10)}, 0, 0, 4, 23);
  cut_prompt later = cut({piece(document, 2, 20), piece(question, 3, 10), piece(answer, 4, 23),
                          piece(question, 5, 40)});
  ASSERT_EQ(first.keys.size(), 4u);
  EXPECT_EQ(first.layout.prompt_keys, 2u);
  EXPECT_TRUE(std::equal(first.keys.begin(), first.keys.end(), later.keys.begin()));
}

}  // namespace
}  // namespace refrain
