// A corpus that changes: which chunks keep their names, and when.
#include "traces/corpus/living_corpus.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "public_traces.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

using chunk_key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;

chunk_key key_of(const segment& chunk) {
  return {chunk.document.get(), chunk.chunk, chunk.version};
}

search_settings everything(chunk_settings cut) {
  return {.chunks = cut, .width = 64, .top = 100'000, .least = -2};
}

constexpr chunk_settings by_heading{.rule = chunk_rule::heading, .span_tokens = token_count{16}};

/// A section that is one chunk.
std::string section(const std::string& word) {
  std::string text = "# " + word + "\n";
  while (text.size() < 50) {
    text += word + " ";
  }
  return text + "\n";
}

std::string page(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += section(word);
  }
  return text;
}

/// One document whose text is replaced once a second.
update_stream stream_of(const std::vector<std::string>& texts) {
  auto history = std::make_shared<revision_history>();
  history->documents = {"page"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bool there = i > 0 && !texts[i - 1].empty();
    revision_op op = texts[i].empty() ? revision_op::remove
                     : there          ? revision_op::modify
                                      : revision_op::add;
    history->events.push_back(
        {.seconds = static_cast<std::int64_t>(i), .op = op, .text = texts[i]});
  }
  return {history, 1, texts.size(), 1};
}

TEST(an_update_stream, leaves_for_never_what_would_come_beyond_all_time) {
  update_stream updates = stream_of({"one", "two", "three"});
  updates.speed = 0.5;
  EXPECT_EQ(updates.when(2), std::chrono::seconds{4});
  updates.speed = 1e-15;
  EXPECT_EQ(updates.when(1), sim_time::max());
}

living_corpus corpus_of(const update_stream& updates, survival rule,
                        const chunk_settings& cut = by_heading) {
  return {updates, std::make_shared<corpus>(), everything(cut), rule};
}

/// Every chunk that there is now, by its text.
std::map<std::uint64_t, segment> chunks_of(const living_corpus& what) {
  std::map<std::uint64_t, segment> chunks;
  for (const segment& each : what.documents_for("a question of some words")) {
    chunks.emplace(each.content.get(), each);
  }
  return chunks;
}

segment chunk_of(const living_corpus& what, const std::string& word) {
  return chunks_of(what).at(fingerprint_of(section(word)).content().get());
}

TEST(a_living_corpus, keeps_the_name_of_a_chunk_wherever_it_moves) {
  update_stream updates =
      stream_of({page({"one", "two", "three"}), page({"new", "one", "two", "three"}),
                 page({"three", "one", "new"})});
  living_corpus what = corpus_of(updates, survival::chunk);
  ASSERT_EQ(chunks_of(what).size(), 3u);
  segment one = chunk_of(what, "one");
  segment three = chunk_of(what, "three");
  what.advance(from_seconds(1));
  EXPECT_EQ(key_of(chunk_of(what, "one")), key_of(one));
  EXPECT_EQ(key_of(chunk_of(what, "three")), key_of(three));
  what.advance(from_seconds(2));
  EXPECT_EQ(key_of(chunk_of(what, "one")), key_of(one));
  EXPECT_EQ(key_of(chunk_of(what, "three")), key_of(three));
  std::vector<corpus_change> changes = what.take_changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].surviving_chunks, 3u);
  EXPECT_TRUE(changes[0].outdated.empty());
  ASSERT_EQ(changes[1].outdated.size(), 1u);
  EXPECT_EQ(changes[1].outdated[0].content, fingerprint_of(section("two")).content());
  EXPECT_TRUE(what.take_changes().empty());
}

TEST(a_living_corpus, gives_new_names_behind_the_first_change_where_prefixes_survive) {
  update_stream updates = stream_of({page({"one", "two", "three"}), page({"one", "new", "three"})});
  living_corpus what = corpus_of(updates, survival::prefix);
  segment one = chunk_of(what, "one");
  segment three = chunk_of(what, "three");
  what.advance(from_seconds(1));
  EXPECT_EQ(key_of(chunk_of(what, "one")), key_of(one));
  segment now = chunk_of(what, "three");
  EXPECT_NE(key_of(now), key_of(three));
  std::vector<corpus_change> changes = what.take_changes();
  EXPECT_EQ(changes[0].surviving_chunks, 1u);
  EXPECT_EQ(changes[0].outdated.size(), 2u);
  // Under the same name stood the same text, behind other text.
  std::vector<older_chunk> older = what.older_than(now);
  ASSERT_EQ(older.size(), 1u);
  EXPECT_EQ(older[0].version, three.version);
  EXPECT_TRUE(older[0].same_text);
}

TEST(a_living_corpus, knows_what_stood_under_a_name_before) {
  update_stream updates = stream_of(
      {page({"one", "two"}), page({"one", "new"}), page({"one", "newer"}), page({"one", "two"})});
  living_corpus what = corpus_of(updates, survival::chunk);
  segment two = chunk_of(what, "two");
  EXPECT_TRUE(what.older_than(two).empty());
  what.advance(from_seconds(2));
  segment newer = chunk_of(what, "newer");
  EXPECT_EQ(newer.chunk, two.chunk);
  std::vector<older_chunk> older = what.older_than(newer);
  ASSERT_EQ(older.size(), 2u);
  EXPECT_EQ(older[1].version, two.version);
  EXPECT_EQ(older[1].tokens, two.tokens);
  EXPECT_FALSE(older[0].same_text);
  EXPECT_TRUE(what.older_than(chunk_of(what, "one")).empty());
}

TEST(a_living_corpus, gives_a_text_that_comes_back_the_name_that_it_had) {
  for (survival rule : {survival::prefix, survival::chunk}) {
    update_stream updates = stream_of({page({"one", "two"}), page({"one", "new"}),
                                       page({"one", "two"}), "", page({"one", "two"})});
    living_corpus what = corpus_of(updates, rule);
    segment two = chunk_of(what, "two");
    what.advance(from_seconds(1));
    EXPECT_NE(key_of(chunk_of(what, "new")), key_of(two));
    what.advance(from_seconds(2));
    EXPECT_EQ(key_of(chunk_of(what, "two")), key_of(two));
    what.advance(from_seconds(3));
    EXPECT_TRUE(chunks_of(what).empty());
    EXPECT_EQ(what.take_changes().back().outdated.size(), 2u);
    what.advance(from_seconds(4));
    EXPECT_EQ(key_of(chunk_of(what, "two")), key_of(two));
  }
}

TEST(a_living_corpus, plays_updates_at_their_time_divided_by_the_speed) {
  update_stream updates = stream_of({page({"one"}), page({"two"}), page({"three"})});
  updates.speed = 4;
  living_corpus what = corpus_of(updates, survival::chunk);
  EXPECT_EQ(what.next_update(), from_seconds(0.25));
  what.advance(from_seconds(0.25) - sim_time{1});
  EXPECT_TRUE(what.take_changes().empty());
  what.advance(from_seconds(0.25));
  EXPECT_EQ(what.take_changes().size(), 1u);
  EXPECT_EQ(what.next_update(), from_seconds(0.5));
  what.advance(from_seconds(9));
  EXPECT_EQ(what.next_update(), std::nullopt);
  updates.end = 2;
  living_corpus cut = corpus_of(updates, survival::chunk);
  cut.advance(from_seconds(9));
  EXPECT_EQ(cut.take_changes().size(), 1u);
}

/// Pages of random sections, edited at random: sections come, go, change, move and come back.
update_stream random_stream_of(std::uint64_t seed, std::size_t events) {
  random_stream draws{seed, "revisions"};
  auto history = std::make_shared<revision_history>();
  history->documents = {"a", "b", "c"};
  std::vector<std::vector<std::string>> now(3);
  for (std::size_t i = 0; i < events; ++i) {
    auto document = static_cast<std::uint32_t>(draws.below(3));
    std::vector<std::string>& words = now[document];
    bool there = !words.empty();
    if (there && draws.below(8) == 0) {
      words.clear();
    } else {
      std::string word = "w" + std::to_string(draws.below(12));
      std::size_t place = draws.below(words.size() + 1);
      if (there && draws.below(3) == 0 && words.size() > 1) {
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(draws.below(words.size())));
      } else if (there && draws.below(2) == 0) {
        words[draws.below(words.size())] = word;
      } else {
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(place), word);
      }
    }
    history->events.push_back({.seconds = static_cast<std::int64_t>(i),
                               .op = words.empty() ? revision_op::remove
                                     : there       ? revision_op::modify
                                                   : revision_op::add,
                               .document = document,
                               .text = page(words)});
  }
  return {history, events / 4, events, 1};
}

TEST(a_living_corpus, never_gives_one_name_to_two_texts) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (survival rule : {survival::prefix, survival::chunk}) {
      update_stream updates = random_stream_of(seed, 80);
      living_corpus what = corpus_of(updates, rule);
      std::map<chunk_key, content_id> text_of;
      std::map<chunk_key, segment> before;
      for (const segment& each : what.documents_for("a question of some words")) {
        before.emplace(key_of(each), each);
      }
      for (std::size_t event = updates.first; event < updates.end; ++event) {
        what.advance(updates.when(event));
        std::map<chunk_key, segment> now;
        std::set<std::uint64_t> texts;
        for (const segment& each : what.documents_for("a question of some words")) {
          EXPECT_TRUE(now.emplace(key_of(each), each).second) << "two chunks of one name";
          EXPECT_EQ(text_of.emplace(key_of(each), each.content).first->second, each.content);
          texts.insert(each.content.get());
        }
        // Just the present texts are found.
        std::set<std::uint64_t> expected;
        for (const corpus_document& document :
             corpus_after(*updates.history, event + 1).documents) {
          for (const text_chunk& piece : cut_text(document.text, by_heading)) {
            expected.insert(fingerprint_of(piece.in(document.text)).content().get());
          }
        }
        EXPECT_EQ(texts, expected);
        std::vector<corpus_change> changes = what.take_changes();
        ASSERT_EQ(changes.size(), 1u);
        for (const segment& gone : changes[0].outdated) {
          EXPECT_FALSE(now.contains(key_of(gone)));
          EXPECT_TRUE(before.contains(key_of(gone)));
        }
        std::size_t left = 0;
        for (const auto& [key, each] : before) {
          left += now.contains(key) ? 0 : 1;
        }
        EXPECT_EQ(left, changes[0].outdated.size());
        before = std::move(now);
      }
    }
  }
}

/// What survives by the corpus' own count and by that of `refrain corpus history`.
void expect_equal_survival(update_stream updates, const chunk_settings& cut) {
  chunk_survival expected = survival_of_chunks(*updates.history, cut);
  updates.first = 0;
  updates.end = updates.history->events.size();
  for (survival rule : {survival::prefix, survival::chunk}) {
    living_corpus what = corpus_of(updates, rule, cut);
    what.advance(sim_time::max());
    std::uint64_t edited = 0, surviving = 0;
    for (const corpus_change& change : what.take_changes()) {
      if (change.op == revision_op::modify) {
        edited += change.bytes;
        surviving += change.surviving_bytes;
      }
    }
    EXPECT_EQ(edited, expected.edited_bytes);
    EXPECT_EQ(surviving, rule == survival::prefix ? expected.prefix_bytes : expected.chunk_bytes);
  }
}

TEST(a_living_corpus, counts_surviving_bytes_as_the_history_does) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_equal_survival(random_stream_of(seed, 60), by_heading);
  }
}

TEST(a_living_corpus, counts_the_same_on_the_prometheus_documentation) {
  std::string path = public_trace("docs-revisions/prometheus_docs.jsonl.zst");
  if (path.empty()) {
    GTEST_SKIP() << "the public traces are not here";
  }
  auto history = std::make_shared<revision_history>(read_revisions(path));
  history->events.resize(500);
  expect_equal_survival({history, 0, 500, 1}, {.rule = chunk_rule::content});
}

}  // namespace
}  // namespace refrain
