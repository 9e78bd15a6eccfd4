// Edits planted into texts: what they change, and that they change nothing else.
#include "traces/corpus/planted_edits.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "public_traces.hpp"
#include "traces/corpus/corpus.hpp"
#include "traces/corpus/text.hpp"

namespace refrain {
namespace {

/// Every text of XQuAD, and some awkward ones.
std::vector<std::string> texts() {
  std::vector<std::string> all{"",
                               "?",
                               "7",
                               "0",
                               "007 is not 3.14 or 1,234.5.",
                               "a the an",
                               "is",
                               "It is not and was not",
                               "\xC3\x89t\xC3\xA9 1984, was it?"};
  if (std::string path = public_trace("xquad-en/xquad.en.json.gz"); !path.empty()) {
    corpus what = read_corpus("squad", path);
    for (const corpus_document& each : what.documents) {
      all.push_back(each.text);
    }
    for (const corpus_question& each : what.questions) {
      all.push_back(each.text);
    }
  }
  return all;
}

/// The numbers of a text, digits with points and commas between them, and the text before each and
/// behind the last.
struct taken_apart {
  std::vector<std::string> numbers;
  std::vector<std::string> rest{""};
};

taken_apart take_apart(const std::string& text) {
  auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  taken_apart parts;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(i)) {
      parts.rest.back() += text[i++];
      continue;
    }
    std::string& number = parts.numbers.emplace_back();
    while (is_digit(i) ||
           (i < text.size() && (text[i] == '.' || text[i] == ',') && is_digit(i + 1))) {
      number += text[i++];
    }
    parts.rest.emplace_back();
  }
  return parts;
}

std::vector<std::string> numbers_of(const std::string& text) {
  return take_apart(text).numbers;
}
std::vector<std::string> rest_of(const std::string& text) {
  return take_apart(text).rest;
}

TEST(another_number, is_exactly_one_number_changed_in_one_digit_and_nothing_else) {
  random_stream choice{1, "test"};
  std::size_t changed = 0;
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    auto edited = with_other_number(text, choice);
    std::vector<std::string> before = numbers_of(text);
    ASSERT_EQ(edited.has_value(), !before.empty());
    if (!edited) {
      continue;
    }
    std::vector<std::string> after = numbers_of(*edited);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_EQ(rest_of(*edited), rest_of(text));
    int different = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (after[i] != before[i]) {
        ++different;
        ASSERT_EQ(after[i].size(), before[i].size());
        EXPECT_FALSE(after[i].size() > 1 && after[i][0] == '0' && before[i][0] != '0');
      }
    }
    EXPECT_EQ(different, 1);
    ++changed;
  }
  EXPECT_GE(changed, 4u);
}

TEST(a_negation, is_one_not_behind_an_auxiliary_that_has_none) {
  random_stream choice{2, "test"};
  std::size_t changed = 0;
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    auto edited = negated(text, choice);
    if (!edited) {
      continue;
    }
    ++changed;
    ASSERT_EQ(edited->size(), text.size() + 4);
    bool found = false;  // some " not" whose removal gives the text, in its place a word's end
    for (std::size_t at = edited->find(" not"); at != std::string::npos && !found;
         at = edited->find(" not", at + 1)) {
      std::string without = *edited;
      std::size_t end = at + 4;
      found = without.erase(at, 4) == text && (end == edited->size() || (*edited)[end] == ' ');
    }
    EXPECT_TRUE(found) << *edited;
    EXPECT_EQ(edited->find(" not not"), std::string::npos);
  }
  EXPECT_GE(changed, 1u);
  EXPECT_EQ(negated("It was he", choice), "It was not he");
  EXPECT_EQ(negated("It was not he", choice), std::nullopt);
  EXPECT_EQ(negated("Was it he? May has 31 days", choice), "Was it he? May has not 31 days");
}

TEST(a_harmless_edit, leaves_all_words_but_at_most_one_article) {
  random_stream choice{3, "test"};
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    auto edited = edited_harmlessly(text, choice);
    ASSERT_EQ(edited.has_value(), !text.empty());
    if (!edited) {
      continue;
    }
    EXPECT_NE(*edited, text);
    std::vector<std::string> before = words_of(text), after = words_of(*edited);
    if (after.size() + 1 == before.size()) {
      std::size_t at = 0;
      while (at < after.size() && after[at] == before[at]) {
        ++at;
      }
      EXPECT_TRUE(before[at] == "the" || before[at] == "a" || before[at] == "an") << before[at];
      before.erase(before.begin() + static_cast<std::ptrdiff_t>(at));
    }
    EXPECT_EQ(after, before);
    EXPECT_EQ(utf8_fault(*edited), std::nullopt);
  }
}

TEST(a_harmless_edit, is_of_every_kind_now_and_then) {
  random_stream choice{4, "test"};
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    seen.insert(*edited_harmlessly("Who saw the Sun?", choice));
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"who saw the sun?", "Who saw the Sun", "Who  saw the Sun?",
                                   "Who saw  the Sun?", "Who saw the  Sun?", "Who saw Sun?"}));
}

}  // namespace
}  // namespace refrain
