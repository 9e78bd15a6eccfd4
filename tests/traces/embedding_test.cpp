// Embeddings, ours and those from a file, and the fingerprints that are near for near texts.
#include "traces/corpus/embedding_file.hpp"

#include <cmath>

#include "temp_files.hpp"
#include "traces/corpus/dot.hpp"

namespace refrain {
namespace {

float cosine(const embedder& texts, std::string_view a, std::string_view b) {
  return dot(texts.of(a), texts.of(b));
}

TEST(hashed_embedder, texts_are_as_near_as_their_words_are_common) {
  hashed_embedder texts;
  std::string_view text = "The Prometheus server scrapes targets every minute";
  EXPECT_NEAR(cosine(texts, text, text), 1, 1e-6);
  EXPECT_NEAR(cosine(texts, text, "the PROMETHEUS server, scrapes targets: every minute!"), 1,
              1e-6);
  EXPECT_GT(cosine(texts, text, "Prometheus servers scrape a target every hour"), 0.5f);
  EXPECT_LT(cosine(texts, text, "Wings in a slipstream at low speed"), 0.2f);
}

TEST(hashed_embedder, rare_terms_weigh_more_than_common_ones_once_it_has_learnt) {
  hashed_embedder plain, learnt;
  for (int i = 0; i < 50; ++i) {
    learnt.learn("how the " + std::to_string(i));
  }
  learnt.learn("zebra");
  auto gain = [](const embedder& texts) {
    return cosine(texts, "how the zebra", "zebra") - cosine(texts, "how the zebra", "how the");
  };
  EXPECT_GT(gain(learnt), gain(plain) + 0.3f);
}

TEST(hashed_embedder, a_text_without_words_has_no_direction) {
  hashed_embedder texts{64};
  for (std::string_view text : {"", " \n", "?!", "..."}) {
    EXPECT_EQ(texts.of(text), std::vector<float>(64, 0.0f));
  }
}

TEST(hashed_embedder,
     bytes_that_are_no_utf8_and_a_hundred_thousand_characters_are_texts_like_others) {
  hashed_embedder texts{64};
  EXPECT_NEAR(dot(texts.of("\xFF\xFE"), texts.of("\xFF\xFE")), 1, 1e-6);
  std::string text(100'000, 'x');
  EXPECT_NEAR(dot(texts.of(text), texts.of(text)), 1, 1e-5);
}

TEST(simhash, is_near_for_near_texts_and_says_how_near) {
  hashed_embedder texts;
  simhash print{texts.width()};
  auto estimate = [&](std::string_view a, std::string_view b) {
    return cosine_of_simhashes(print.of(texts.of(a)), print.of(texts.of(b)));
  };
  std::string_view text = "the fee is 2 % of the amount paid by card within a month";
  EXPECT_EQ(estimate(text, text), 1);
  EXPECT_GT(estimate(text, "the fee is 3 % of the amount paid by card within a month"), 0.7);
  EXPECT_LT(estimate(text, "wings in a slipstream at low speed"), 0.5);
}

class embedding_files : public temp_files {
 protected:
  std::string error(const std::string& text) const {
    std::string path = write(text, "e.jsonl");
    std::string message = error_of([&] { embedding_file{path}; });
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }
};

TEST_F(embedding_files, give_the_text_s_numbers_scaled_to_length_one) {
  std::string path = write("{\"text\":\"a\",\"embedding\":[3,4]}\n{\"fingerprint\":\"" +
                               fingerprint_of("b").hex() + "\",\"embedding\":[1e300,0]}\n",
                           "e.jsonl");
  embedding_file texts{path};
  EXPECT_EQ(texts.width(), 2u);
  EXPECT_EQ(texts.of("a"), (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(texts.of("b"), (std::vector<float>{1, 0}));
  EXPECT_FALSE(texts.has("c"));
  EXPECT_EQ(error_of([&] { texts.of("c"); }),
            path + ": has no embedding of \"c\" (fingerprint " + fingerprint_of("c").hex() + ")");
}

TEST_F(embedding_files, of_the_wrong_width_or_with_nan_stop_with_file_and_line) {
  std::string first = "{\"text\":\"a\",\"embedding\":[1,2]}\n";
  EXPECT_EQ(error(first + "{\"text\":\"b\",\"embedding\":[1,2,3]}\n"),
            ":2: an embedding of the wrong width: expected 2 numbers as in the first row, found 3");
  std::string no_number = "an embedding holds what is no finite number: at place 1";
  for (const char* value : {"NaN", "nan", "null", "\"x\"", "1e999", "Infinity", "-Infinity"}) {
    std::string message = error(first + "{\"text\":\"b\",\"embedding\":[1," + value + "]}\n");
    EXPECT_EQ(message, ":2: " + no_number) << value;
  }
}

TEST_F(embedding_files, that_say_something_else_stop_too) {
  std::string first = "{\"text\":\"a\",\"embedding\":[1,2]}\n";
  EXPECT_EQ(error(first + "{\"text\":\"a\",\"embedding\":[1,2]}\n"),
            ":2: an embedding of a text that has one already: " + fingerprint_of("a").hex());
  EXPECT_EQ(error("{\"text\":\"a\",\"embedding\":[0,0]}\n"),
            ":1: an embedding of zeros, which has no direction");
  EXPECT_EQ(error("{\"text\":\"a\",\"embedding\":[]}\n"), ":1: an embedding has no numbers");
  EXPECT_EQ(error("{\"embedding\":[1]}\n"), ":1: missing field \"text\" or \"fingerprint\"");
  EXPECT_EQ(error("{\"text\":\"a\"}\n"), ":1: missing field \"embedding\"");
  EXPECT_EQ(error("{\"text\":\"a\",\"embedding\":1}\n"),
            ":1: \"embedding\" is not an array of numbers");
  EXPECT_EQ(error("{\"fingerprint\":\"a\",\"embedding\":[1]}\n"),
            ":1: \"fingerprint\" is not 32 hexadecimal digits");
  EXPECT_EQ(error("[1]\n"), ":1: not a JSON object");
  EXPECT_EQ(error(""), ": holds no embeddings");
}

}  // namespace
}  // namespace refrain
