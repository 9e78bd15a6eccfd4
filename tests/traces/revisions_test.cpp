// Streams of document revisions: what is read, what is refused, and what the figures of a real one
// are.
#include "traces/corpus/revisions.hpp"

#include "public_traces.hpp"

namespace refrain {
namespace {

class revision_streams : public temp_files {
 protected:
  revision_history read(const std::string& text) const {
    return read_revisions(write(text, "docs.jsonl"));
  }
  /// Why the stream is refused, without the file's name.
  std::string error(const std::string& text) const {
    std::string path = write(text, "docs.jsonl");
    std::string message = error_of([&] { read_revisions(path); });
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }

  static std::string row(int time, const std::string& op, const std::string& path,
                         const std::string& text) {
    return "{\"commit\":\"c" + std::to_string(time) + "\",\"time\":" + std::to_string(time) +
           ",\"op\":\"" + op + "\",\"path\":\"" + path +
           "\",\"blob\":null,\"bytes\":" + std::to_string(text.size()) +
           ",\"text\":" + (op == "D" ? "null" : "\"" + text + "\"") + "}\n";
  }
};

TEST_F(revision_streams, are_read_plain_and_packed) {
  std::string text = row(5, "A", "a.md", "one") + row(5, "A", "b.md", "") +
                     row(7, "M", "a.md", "two") + row(9, "D", "b.md", "");
  for (const std::string kind : {"plain", "gzip", "xz", "zstd"}) {
    revision_history history = read(kind == "plain" ? text : pack(kind, text));
    EXPECT_EQ(history.source, "docs.jsonl");
    EXPECT_EQ(history.documents, (std::vector<std::string>{"a.md", "b.md"}));
    ASSERT_EQ(history.events.size(), 4u);
    EXPECT_EQ(history.events[1].document, 1u);
    EXPECT_EQ(history.events[2].op, revision_op::modify);
    EXPECT_EQ(history.events[2].seconds, 7);
    EXPECT_EQ(history.events[2].text, "two");
    EXPECT_EQ(history.events[3].op, revision_op::remove);
    EXPECT_EQ(corpus_after(history, 0).documents.size(), 0u);
    EXPECT_EQ(corpus_after(history, 2).documents.size(), 2u);
    EXPECT_EQ(corpus_after(history, 3).documents[0].text, "two");
    EXPECT_EQ(corpus_after(history, 4).documents.size(), 1u);
  }
}

TEST_F(revision_streams, that_cannot_have_happened_are_refused_with_line_and_reason) {
  std::string a = row(5, "A", "a.md", "one");
  EXPECT_EQ(error(a + row(4, "M", "a.md", "two")), ":2: time goes back: 4 after 5");
  EXPECT_EQ(error(a + row(6, "R", "a.md", "two")), ":2: an unknown op: \"R\"; expected A, M or D");
  EXPECT_EQ(error(a + row(6, "A", "a.md", "two")),
            ":2: a document is added that is there already: a.md");
  EXPECT_EQ(error(a + row(6, "M", "b.md", "two")),
            ":2: a document is changed or removed that is not there: b.md");
  EXPECT_EQ(error(a + row(6, "D", "a.md", "") + row(7, "D", "a.md", "")),
            ":3: a document is changed or removed that is not there: a.md");
  EXPECT_EQ(error(a + row(6, "D", "a.md", "") + row(7, "M", "a.md", "x")),
            ":3: a document is changed or removed that is not there: a.md");
  EXPECT_EQ(error(a + "{\"time\":6,\"op\":\"M\",\"path\":\"a.md\",\"text\":null}"),
            ":2: missing field \"text\"");
  EXPECT_EQ(error(a + "{\"time\":6,\"op\":\"D\",\"path\":\"a.md\",\"text\":\"x\"}"),
            ":2: a removal with a text");
  EXPECT_EQ(error(a + "{\"op\":\"D\",\"path\":\"a.md\"}"), ":2: missing field \"time\"");
  EXPECT_EQ(error(a + "{\"time\":6,\"path\":\"a.md\"}"), ":2: missing field \"op\"");
  EXPECT_EQ(error(a + "{\"time\":6,\"op\":\"D\"}"), ":2: missing field \"path\"");
  EXPECT_EQ(error(a + "{\"time\":6,\"op\":\"A\",\"path\":\"\",\"text\":\"x\"}"),
            ":2: an empty path");
  EXPECT_EQ(error(a + "{\"time\":6,\"time\":6,\"op\":\"D\",\"path\":\"a.md\"}"),
            ":2: a field is given twice: time");
  EXPECT_EQ(error(a + "{\"time\":2000000000000,\"op\":\"D\",\"path\":\"a.md\"}"),
            ":2: \"time\" is beyond 1e12 seconds: 2000000000000");
  EXPECT_EQ(error(a + "{\"time\":6,\"op\":\"M\",\"path\":\"a.md\",\"text\":\"xy\",\"bytes\":3}"),
            ":2: a text of another length than \"bytes\" says: 2, not 3");
  EXPECT_NE(error(a + "{\"time\":-1,\"op\":\"D\",\"path\":\"a.md\"}"), "");
  EXPECT_NE(error(a + "{\"time\":6,\"op\":\"M\",\"path\":\"a.md\",\"text\":\"\xC3\"}"), "");
  EXPECT_NE(error(a + "{\"time\":6,\"op\":\"M\",\"path\":\"a.md\",\"text\":\"\\ud800\"}"), "");
  EXPECT_NE(error(a + "not json"), "");
  EXPECT_EQ(error(""), ": has no revisions");
  EXPECT_EQ(error("\n\n"), ": has no revisions");
}

TEST_F(revision_streams, are_corpora_as_they_are_at_their_end) {
  std::string path = write(row(5, "A", "a.md", "one") + row(6, "A", "b.md", "two") +
                           row(7, "M", "a.md", "three") + row(8, "D", "b.md", ""));
  corpus what = read_corpus("revisions", path);
  ASSERT_EQ(what.documents.size(), 1u);
  EXPECT_EQ(what.documents[0].id, "a.md");
  EXPECT_EQ(what.documents[0].text, "three");
}

TEST_F(revision_streams, are_described_by_what_edits_keep) {
  revision_history history;
  history.documents = {"a"};
  history.events = {
      {.seconds = 5, .commit = "c", .text = "one\ntwo\nfour\n"},
      {.seconds = 6, .op = revision_op::modify, .commit = "c", .text = "one\nfour\ntwo\n"}};
  revision_figures figures = describe_revisions(history);
  EXPECT_EQ(figures.commits, 1u);
  EXPECT_EQ(figures.added, 1u);
  EXPECT_EQ(figures.modified, 1u);
  EXPECT_DOUBLE_EQ(figures.kept_prefix.p50, 4.0 / 13);
  EXPECT_DOUBLE_EQ(figures.kept_lines.p50, 1);
  EXPECT_EQ(figures.edits.most, 1);
}

TEST_F(revision_streams, leave_more_of_chunks_than_of_what_stands_before_the_first_change) {
  std::string section(60, 'x');
  revision_history history;
  history.documents = {"a"};
  history.events = {
      {.seconds = 1, .text = "# a\n" + section + "\n# b\n" + section + "b\n# c\n" + section + "c"},
      {.seconds = 2,
       .op = revision_op::modify,
       .text = "# a\n" + section + "\n# b\n" + section + "!\n# c\n" + section + "c"}};
  chunk_survival kept =
      survival_of_chunks(history, {.rule = chunk_rule::heading, .span_tokens = token_count{20}});
  EXPECT_EQ(kept.edited_bytes, history.events[1].text.size());
  EXPECT_EQ(kept.prefix_bytes, 65u);
  EXPECT_EQ(kept.chunk_bytes, 65u + 65u);
}

TEST_F(revision_streams, of_prometheus_have_the_published_figures) {
  std::string path = public_trace("docs-revisions/prometheus_docs.jsonl.zst");
  if (path.empty()) {
    GTEST_SKIP() << "the public traces are not here";
  }
  revision_history history = read_revisions(path);
  revision_figures figures = describe_revisions(history);
  EXPECT_EQ(history.events.size(), 1'870u);
  EXPECT_EQ(figures.added, 182u);
  EXPECT_EQ(figures.modified, 1'574u);
  EXPECT_EQ(figures.removed, 114u);
  EXPECT_EQ(figures.commits, 1'298u);
  EXPECT_EQ(figures.live_documents, 68u);
  EXPECT_EQ(figures.peak_documents, 68u);
  EXPECT_EQ(figures.live_bytes, 649'451u);
  EXPECT_EQ(figures.version_bytes, 20'918'428u);
  EXPECT_EQ(figures.live_sizes.p50, 4'647);
  EXPECT_EQ(figures.live_sizes.p90, 24'546);
  EXPECT_EQ(figures.live_sizes.most, 147'503);
  EXPECT_EQ(figures.edits.p50, 3);
  EXPECT_EQ(figures.edits.p90, 23);
  EXPECT_EQ(figures.edits.most, 307);
  EXPECT_NEAR(figures.kept_prefix.p10, 0.032, 0.001);
  EXPECT_NEAR(figures.kept_prefix.p50, 0.426, 0.0005);
  EXPECT_NEAR(figures.kept_prefix.p90, 0.857, 0.001);
  EXPECT_NEAR(figures.kept_lines.p10, 0.825, 0.001);
  EXPECT_NEAR(figures.kept_lines.p50, 0.984, 0.0005);
  EXPECT_NEAR(figures.kept_lines.p90, 0.997, 0.001);
}

}  // namespace
}  // namespace refrain
