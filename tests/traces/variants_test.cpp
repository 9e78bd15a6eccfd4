// The workload of planted variants: its order, that the seed alone decides, and what it knows of
// texts that stand in for each other.
#include "traces/corpus/variants.hpp"

#include <set>

#include "temp_files.hpp"
#include "traces/corpus/text.hpp"

namespace refrain {
namespace {

corpus two_questions() {
  corpus what;
  what.source = "memory";
  what.documents = {{"d", "There are 7 seas."}, {"empty", ""}};
  what.questions = {{"1", "How many of the 12 moons did he see?", {}},
                    {"2", "how many of the 12 moons did he see", {}},
                    {"3", "Which sea was it?", {}},
                    {"4", "???", {}}};
  return what;
}

std::vector<std::string> texts_of(const std::vector<planted_text>& planted) {
  std::vector<std::string> texts;
  for (const planted_text& each : planted) {
    texts.push_back(each.text);
  }
  return texts;
}

TEST(planted_variants, come_after_all_originals_and_are_the_seed_s_alone) {
  std::vector<planted_text> planted = plant_variants(two_questions(), {}, 1);
  ASSERT_EQ(planted.size(), 2u + 2 + 1 + 2) << "harmless, number, negations";
  EXPECT_EQ(planted[0].text, "How many of the 12 moons did he see?");
  EXPECT_EQ(planted[1].text, "Which sea was it?") << "the same words are asked once";
  std::multiset<planted_edit> edits;
  std::set<content_id> contents;
  for (const planted_text& each : planted) {
    edits.insert(each.edit);
    contents.insert(each.content);
    EXPECT_LT(each.original, 2u);
  }
  EXPECT_EQ(contents.size(), planted.size());
  EXPECT_EQ(edits.count(planted_edit::none), 2u);
  EXPECT_EQ(edits.count(planted_edit::harmless), 2u);
  EXPECT_EQ(edits.count(planted_edit::number), 1u);
  EXPECT_EQ(edits.count(planted_edit::negation), 2u);
  EXPECT_EQ(texts_of(planted), texts_of(plant_variants(two_questions(), {}, 1)));
  std::set<std::vector<std::string>> by_seed;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    by_seed.insert(texts_of(plant_variants(two_questions(), {}, seed)));
  }
  EXPECT_GT(by_seed.size(), 5u);
}

TEST(planted_variants, are_of_questions_documents_or_both_and_of_the_first_so_many) {
  auto originals = [](const variant_settings& settings) {
    std::vector<std::string> texts;
    for (const planted_text& each : plant_variants(two_questions(), settings, 1)) {
      if (each.edit == planted_edit::none) {
        texts.push_back(each.text);
      }
    }
    return texts;
  };
  using strings = std::vector<std::string>;
  EXPECT_EQ(originals({.texts = variant_texts::documents}), (strings{"There are 7 seas."}));
  EXPECT_EQ(originals({.texts = variant_texts::both}).size(), 3u);
  EXPECT_EQ(originals({.texts = variant_texts::both, .originals = 1}).size(), 1u);
  corpus none = two_questions();
  none.questions.clear();
  EXPECT_EQ(error_of([&] { plant_variants(none, {}, 1); }), "memory: has no questions with words");
}

TEST(planted_variants, know_what_stands_in_for_what) {
  auto text = [](std::uint32_t original, planted_edit edit) {
    return planted_text{"", content_id{1}, original, edit};
  };
  using enum planted_edit;
  EXPECT_EQ(judge(text(0, harmless), text(0, none)), stand_in::right);
  EXPECT_EQ(judge(text(0, none), text(0, harmless)), stand_in::right);
  EXPECT_EQ(judge(text(0, number), text(0, none)), stand_in::number);
  EXPECT_EQ(judge(text(0, harmless), text(0, number)), stand_in::number);
  EXPECT_EQ(judge(text(0, number), text(0, negation)), stand_in::number);
  EXPECT_EQ(judge(text(0, negation), text(0, number)), stand_in::negation);
  EXPECT_EQ(judge(text(0, negation), text(0, harmless)), stand_in::negation);
  EXPECT_EQ(judge(text(0, none), text(1, none)), stand_in::other);
}

TEST(planted_tables, tell_cosines_tokens_and_near_texts) {
  std::vector<planted_text> planted = plant_variants(two_questions(), {}, 1);
  auto table = make_planted_table(planted, hashed_embedder{64});
  const planted_text& first = planted[0];
  EXPECT_EQ(table->tokens(first.content).size(), 10u) << "nine words and a mark";
  EXPECT_EQ(table->embedding(first.content).size(), 64u);
  auto near = table->candidates(first.content);
  ASSERT_TRUE(near.has_value());
  EXPECT_EQ(near->size(), planted.size() - 1);
  for (const planted_text& each : planted) {
    EXPECT_EQ(table->judge(first.content, each.content), judge(first, each));
  }
  EXPECT_EQ(table->judge(first.content, content_id{5}), stand_in::unjudged);
  EXPECT_TRUE(table->tokens(content_id{5}).empty());
}

TEST(variant_sources, ask_each_text_once_as_a_document_and_say_how_it_was_edited) {
  auto planted =
      std::make_shared<const std::vector<planted_text>>(plant_variants(two_questions(), {}, 1));
  variant_settings settings{.system_tokens = token_count{10}, .output_tokens = token_count{3}};
  auto table = make_planted_table(*planted, hashed_embedder{64});
  auto rows = make_variant_source(planted, table, settings, 1);
  EXPECT_TRUE(rows->info().has_truth);
  std::vector<request> all = read_all(*rows);
  ASSERT_EQ(all.size(), planted->size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const planted_text& text = (*planted)[i];
    EXPECT_EQ(all[i].planted, text.edit);
    ASSERT_EQ(all[i].segments.size(), 2u);
    EXPECT_EQ(all[i].segments[1].content, text.content);
    EXPECT_EQ(all[i].segments[1].kind, segment_kind::document);
    EXPECT_EQ(all[i].input_tokens, 10 + tokens_of_bytes(text.text.size()));
  }
}

}  // namespace
}  // namespace refrain
