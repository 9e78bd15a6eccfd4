// Cutting texts: what every rule keeps to, and what an edit leaves of its chunks.
#include "traces/corpus/chunker.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "traces/corpus/fingerprint.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr chunk_rule all_rules[] = {chunk_rule::fixed, chunk_rule::heading, chunk_rule::content};

std::string random_text(random_stream& random, std::size_t pieces) {
  static const std::string parts[] = {"word ", "\n",           "\n\n",  "# heading\n",
                                      "é",     "\xE2\x82\xAC", "```\n", "## second\n",
                                      "\xFF",  "a b c. "};
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) {
    text += parts[random.below(std::size(parts))];
  }
  return text;
}

std::vector<std::string> pieces_of(std::string_view text, const chunk_settings& settings) {
  std::vector<std::string> pieces;
  for (const text_chunk& chunk : cut_text(text, settings)) {
    pieces.emplace_back(chunk.in(text));
  }
  return pieces;
}

/// Bytes of chunks of `now` that `before` had.
std::size_t surviving(std::string_view before, std::string_view now, chunk_rule rule) {
  std::multiset<std::string> had;
  for (std::string& piece : pieces_of(before, {rule, token_count{64}})) {
    had.insert(std::move(piece));
  }
  std::size_t bytes = 0;
  for (const std::string& piece : pieces_of(now, {rule, token_count{64}})) {
    if (auto found = had.find(piece); found != had.end()) {
      bytes += piece.size();
      had.erase(found);
    }
  }
  return bytes;
}

TEST(chunker, chunks_make_up_the_text_under_every_rule_and_none_is_too_long) {
  random_stream random{7, "chunker test"};
  for (int round = 0; round < 150; ++round) {
    std::string text = random_text(random, random.below(300));
    auto span = static_cast<std::int64_t>(1 + random.below(40));
    for (chunk_rule rule : all_rules) {
      SCOPED_TRACE(std::to_string(round) + " " +
                   std::string{chunk_rule_names[static_cast<std::size_t>(rule)]});
      std::string whole;
      std::size_t most = static_cast<std::size_t>(span) * 4 * (rule == chunk_rule::content ? 2 : 1);
      for (const std::string& piece : pieces_of(text, {rule, token_count{span}})) {
        EXPECT_FALSE(piece.empty());
        EXPECT_LE(piece.size(), most + 3);
        whole += piece;
      }
      EXPECT_EQ(whole, text);
    }
  }
}

TEST(chunker, cuts_do_not_split_characters) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) {
    euros += "\xE2\x82\xAC";
  }
  for (chunk_rule rule : all_rules) {
    for (const text_chunk& chunk : cut_text(euros, {rule, token_count{5}})) {
      EXPECT_EQ(chunk.begin % 3, 0u);
    }
  }
}

TEST(chunker, an_empty_text_has_no_chunks_and_tokens_round_up) {
  for (chunk_rule rule : all_rules) {
    EXPECT_TRUE(cut_text("", {rule}).empty());
    ASSERT_EQ(cut_text("abcde", {rule}).size(), 1u);
    EXPECT_EQ(cut_text("abcde", {rule})[0].tokens(), token_count{2});
  }
  EXPECT_EQ(tokens_of_bytes(0), token_count{0});
}

TEST(chunker, ten_million_characters_on_one_line_are_cut_by_every_rule) {
  std::string text(10'000'000, 'x');
  EXPECT_EQ(cut_text(text, {chunk_rule::fixed}).size(), 6511u);  // ceil(10^7 / 1536)
  EXPECT_EQ(cut_text(text, {chunk_rule::heading}).size(), 6511u);
  EXPECT_GE(cut_text(text, {chunk_rule::content}).size(), 10'000'000u / (2 * 1536));
}

TEST(chunker, fixed_chunks_have_the_span_but_the_last) {
  std::string text(4000, 'x');
  std::vector<text_chunk> chunks = cut_text(text, {});
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].tokens(), token_count{384});
  EXPECT_EQ(chunks[2].bytes, 4000u - 2 * 1536);
}

TEST(chunker, headings_begin_chunks_but_not_inside_of_fenced_code) {
  std::string body(60, 'x');
  std::string text = "intro " + body + "\n# One\n" + body + "\n```\n# no heading\n```\n" + body +
                     "\n## Two\n" + body + "\n#nor this\n" + body + "\n";
  std::vector<std::string> pieces = pieces_of(text, {chunk_rule::heading, token_count{100}});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_TRUE(pieces[0].starts_with("intro"));
  EXPECT_TRUE(pieces[1].starts_with("# One"));
  EXPECT_TRUE(pieces[2].starts_with("## Two"));
}

TEST(chunker, sections_that_are_too_short_join_and_too_long_ones_end_at_paragraphs) {
  std::string words(150, 'w');
  std::string text = "# A\n\n## B\n" + words + "\n\n" + words + "\n\n" + words + "\n# C\nend\n";
  std::vector<std::string> pieces = pieces_of(text, {chunk_rule::heading, token_count{100}});
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0], "# A\n\n");  // joined with B it would be cut in the middle of B
  EXPECT_EQ(pieces[1], "## B\n" + words + "\n\n" + words + "\n\n");
  EXPECT_EQ(pieces[2], words + "\n");
  EXPECT_EQ(pieces[3], "# C\nend\n");
  EXPECT_EQ(pieces_of("# A\n# B\n# C\ntext", {chunk_rule::heading, token_count{100}}).size(), 1u);
}

TEST(chunker, an_insertion_at_the_front_spares_chunks_by_content_and_by_heading_only) {
  random_stream random{3, "insertion"};
  std::string text;
  for (int section = 0; section < 40; ++section) {
    text += "## Section " + std::to_string(section) + "\n";
    for (int word = 0; word < 60; ++word) {
      text += std::to_string(random.next()) + " ";
    }
    text += "\n";
  }
  std::string edited = "One more sentence.\n" + text;
  EXPECT_EQ(surviving(text, edited, chunk_rule::fixed), 0u);
  EXPECT_GT(surviving(text, edited, chunk_rule::heading), text.size() * 97 / 100);
  EXPECT_GT(surviving(text, edited, chunk_rule::content), text.size() * 95 / 100);
}

TEST(chunker, content_chunks_have_about_the_span_on_average) {
  random_stream random{5, "mean"};
  std::string text;
  while (text.size() < 400'000) {
    text += std::to_string(random.next());
  }
  double mean = 400'000.0 / static_cast<double>(cut_text(text, {chunk_rule::content}).size());
  EXPECT_GT(mean, 0.75 * 1536);
  EXPECT_LT(mean, 1.25 * 1536);
}

TEST(text, faults_of_utf8_are_found_where_they_are) {
  EXPECT_FALSE(utf8_fault("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80"));
  EXPECT_EQ(utf8_fault("ab\xFF"), 2u);
  EXPECT_EQ(utf8_fault("\xE2\x82"), 0u);          // cut short
  EXPECT_EQ(utf8_fault("a\xC0\x80"), 1u);         // too long
  EXPECT_EQ(utf8_fault("ab\xED\xA0\x80"), 2u);    // half of a pair
  EXPECT_EQ(utf8_fault("\xF4\x90\x80\x80"), 0u);  // beyond Unicode
  EXPECT_EQ(utf8_fault(std::string(100, 'x') + "\x80"), 100u);
}

TEST(text, json_strings_escape_what_must_be) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01\xC3\xA9"), "\"a\\\"b\\\\c\\n\\u0001\xC3\xA9\"");
}

TEST(fingerprint, is_xxh3_of_the_bytes_in_128_bits) {
  // The published value of the empty input.
  EXPECT_EQ(fingerprint_of("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(parse_fingerprint(fingerprint_of("text").hex()), fingerprint_of("text"));
  EXPECT_NE(fingerprint_of("fee 2 %"), fingerprint_of("fee 3 %"));
  EXPECT_FALSE(parse_fingerprint("99aa06d3014798d86001c324468d497"));
  EXPECT_FALSE(parse_fingerprint("99aa06d3014798d86001c324468d497g"));
  EXPECT_FALSE(parse_fingerprint("+9aa06d3014798d86001c324468d497f"));
}

}  // namespace
}  // namespace refrain
