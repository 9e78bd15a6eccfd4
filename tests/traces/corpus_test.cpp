// Corpora in every format, their faults with file and line, and how well they are searched.
#include "traces/corpus/corpus.hpp"

#include "public_traces.hpp"
#include "traces/corpus/chunk_index.hpp"
#include "traces/corpus/retrieval_quality.hpp"

namespace refrain {
namespace {

constexpr float any_score = -2;

class corpora : public temp_files {
 protected:
  /// The message of reading a file of our own format, without the file's name.
  std::string error(const std::string& text, std::string_view format = "corpus") const {
    std::string path = write(text, "c");
    std::string message = error_of([&] { read_corpus(format, path); });
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }

  corpus made(const std::string& rows) const {
    return read_corpus("corpus", write("{\"refrain_corpus\":1}\n" + rows, "c"));
  }

  static std::unique_ptr<chunk_index> index_of(const corpus& what, const index_settings& how = {}) {
    return make_chunk_index(what, {}, how, make_embedder(what, {}, 256, ""));
  }
};

constexpr const char* two_documents =
    "{\"document\":\"a\",\"text\":\"wings and slipstreams\"}\n"
    "{\"document\":\"b\",\"text\":\"heat in slabs\"}\n";

TEST_F(corpora, are_read_as_they_were_written) {
  corpus first = made(std::string{two_documents} +
                      "{\"document\":7,\"text\":\"\"}\n"
                      "{\"question\":\"q\",\"text\":\"heat \\u20ac?\\n\",\"relevant\":[[\"b\",3],"
                      "[\"7\",1]]}\n{\"question\":\"r\",\"text\":\"\"}\n");
  std::string path = (folder_ / "again").string();
  write_corpus(first, path);
  corpus again = read_corpus("corpus", path);
  ASSERT_EQ(again.documents.size(), 3u);
  EXPECT_EQ(again.documents[2].id, "7");
  EXPECT_EQ(again.documents[2].text, "");
  ASSERT_EQ(again.questions.size(), 2u);
  EXPECT_EQ(again.questions[0].text, "heat \xE2\x82\xAC?\n");
  EXPECT_EQ(again.questions[0].relevant, (std::vector<judgement>{{1, 3}, {2, 1}}));
  EXPECT_EQ(error_of([&] { write_corpus(first, path); }), path + ": exists; name a new file");
}

TEST_F(corpora, with_bad_rows_stop_with_file_and_line) {
  std::string head = "{\"refrain_corpus\":1}\n";
  std::string start = head + two_documents;
  EXPECT_EQ(error(start + "{\"document\":\"a\",\"text\":\"x\"}\n"),
            ":4: a document id that is there already: a");
  EXPECT_EQ(error(start + "{\"question\":\"a\",\"text\":\"x\",\"relevant\":[[\"c\",1]]}\n"),
            ":4: a judgement of a document that is not there: c");
  EXPECT_EQ(error(start + "{\"question\":\"a\",\"text\":\"x\",\"relevant\":[[\"b\",1],[\"b\",2]]}"),
            ":4: a document that is judged twice for one question: b");
  for (const char* bad : {"[\"b\"]", "[\"b\",0]", "[\"b\",1.5]", "[\"b\",1,1]", "[\"b\",101]"}) {
    EXPECT_EQ(error(start + "{\"question\":\"a\",\"text\":\"x\",\"relevant\":[" + bad + "]}"),
              ":4: a judgement is not [DOCUMENT, GRADE] with a grade from 1 to 100");
  }
  EXPECT_EQ(error(start + "{\"document\":\"c\"}\n"), ":4: missing field \"text\"");
  EXPECT_EQ(error(start + "{\"text\":\"c\"}\n"), ":4: neither a document nor a question, or both");
  EXPECT_EQ(error(start + "{\"document\":\"c\",\"txt\":\"c\"}\n"),
            ":4: a field that the format does not have: txt");
  EXPECT_EQ(error("{\"refrain_corpus\":1,\"documents\":3}\n" + std::string{two_documents}),
            ":3: the header says 3 documents, and there are 2");
  EXPECT_EQ(error("{\"refrain_corpus\":2}\n"), ":1: a corpus of another version: 2");
  EXPECT_EQ(error(two_documents), ":1: a field that the format does not have: document");
  EXPECT_EQ(error(""), ": is empty; expected a header {\"refrain_corpus\": 1}");
}

TEST_F(corpora, of_bytes_that_are_no_utf8_are_refused_in_every_format) {
  EXPECT_NE(error("{\"refrain_corpus\":1}\n{\"document\":\"c\",\"text\":\"\xFF\"}\n"), "");
  EXPECT_EQ(error(".I 1\n.W\ngood\n.I 2\n.W\nbad \xC3\n", "smart"),
            ":6: text that is no UTF-8: at byte 4");
  std::filesystem::create_directory(folder_ / "texts");
  write("caf\xE9", "texts/a.md");
  EXPECT_EQ(error_of([&] { read_corpus("folder", (folder_ / "texts").string()); }),
            (folder_ / "texts/a.md").string() + ": text that is no UTF-8: at byte 3");
  EXPECT_NE(error("{\"data\":[{\"paragraphs\":[{\"context\":\"\xFF\",\"qas\":[]}]}]}", "squad"),
            "");
}

TEST_F(corpora, of_unknown_formats_are_answered_with_the_nearest) {
  EXPECT_EQ(error_of([] { read_corpus("sqaud", "x"); }),
            "x: unknown corpus format \"sqaud\"; did you mean \"squad\"?");
}

TEST_F(corpora, without_documents_are_good_and_find_nothing) {
  corpus empty = made("{\"question\":\"q\",\"text\":\"heat\"}\n");
  auto index = index_of(empty);
  EXPECT_EQ(index->size(), 0u);
  EXPECT_TRUE(index->search("heat", 5, any_score).empty());
  EXPECT_EQ(quality_at(empty, {{}}, 10).unjudged, 1u);
}

TEST_F(corpora, of_smart_collections_have_grades_from_codes_and_questions_by_place) {
  write(".I 10\r\n.T\r\ntitle\r\n.W\r\nwings\r\nand heat\r\n.I 20\r\n.W\r\n", "x.all");
  write(".I 001\n.W\nheat ?\n.I 004\n.W\nslabs ?\n", "x.qry");
  write("1 10 1\n2 20 4 \n2 10 -1\n", "xrel");
  write("read me", "xrel.readme");
  corpus what = read_corpus("smart", folder_.string());
  ASSERT_EQ(what.documents.size(), 2u);
  EXPECT_EQ(what.documents[0].text, "wings\nand heat\n");
  EXPECT_EQ(what.documents[1].text, "");
  ASSERT_EQ(what.questions.size(), 2u);
  EXPECT_EQ(what.questions[0].relevant, (std::vector<judgement>{{0, 4}}));
  EXPECT_EQ(what.questions[1].relevant, (std::vector<judgement>{{1, 1}}));
  write("3 10 1\n", "xrel");
  EXPECT_EQ(error_of([&] { read_corpus("smart", folder_.string()); }),
            (folder_ / "xrel").string() + ":1: question 3 is not among the 2 there are");
  write("1 10\n", "xrel");
  EXPECT_EQ(error_of([&] { read_corpus("smart", folder_.string()); }),
            (folder_ / "xrel").string() + ":1: expected a question's place, a document and a code");
  EXPECT_EQ(error(".I 1\n.I 1\n", "smart"), ":2: a document id that is there already: 1");
}

TEST_F(corpora, of_a_folder_have_the_paths_as_ids_in_order) {
  std::filesystem::create_directories(folder_ / "texts/b");
  write("two", "texts/b/two.md");
  write("one", "texts/one.txt");
  write("not this", "texts/one.png");
  corpus what = read_corpus("folder", (folder_ / "texts").string());
  ASSERT_EQ(what.documents.size(), 2u);
  EXPECT_EQ(what.documents[0].id, "b/two.md");
  EXPECT_EQ(what.documents[1].text, "one");
  EXPECT_THAT(error_of([&] { read_corpus("folder", (folder_ / "none").string()); }),
              testing::HasSubstr("is no folder"));
}

TEST_F(corpora, of_squad_s_form_say_where_they_are_wrong) {
  EXPECT_THAT(error("{\"data\":[{\"paragraphs\":[{\"context\":\"x\"}]}]}", "squad"),
              testing::StartsWith(": not SQuAD's JSON near paragraph 0-0: "));
  EXPECT_THAT(error("{}", "squad"), testing::StartsWith(": not SQuAD's JSON near the beginning: "));
}

TEST_F(corpora, public_ones_hold_what_is_published_of_them) {
  std::string cranfield = public_trace("cranfield"),
              xquad = public_trace("xquad-en/xquad.en.json.gz");
  if (cranfield.empty() || xquad.empty()) {
    GTEST_SKIP() << "the public corpora are not here";
  }
  corpus what = read_corpus("smart", cranfield);
  EXPECT_EQ(what.documents.size(), 1400u);
  EXPECT_EQ(what.questions.size(), 225u);
  EXPECT_TRUE(what.documents[470].text.empty() && what.documents[994].text.empty());
  std::size_t judged = 0;
  for (const corpus_question& question : what.questions) {
    judged += question.relevant.size();
  }
  EXPECT_EQ(judged, 1837u - 225u);
  what = read_corpus("squad", xquad);
  EXPECT_EQ(what.documents.size(), 240u);
  EXPECT_EQ(what.questions.size(), 1190u);
}

TEST_F(corpora, are_searched_by_chunk_and_by_document) {
  corpus what = made(two_documents);
  auto index = index_of(what);
  std::vector<found_chunk> found = index->search("heat in a slab", 5, 0);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].chunk.document, 1u);
  EXPECT_EQ(found[0].chunk.text, fingerprint_of("heat in slabs"));
  // k larger than the corpus: all there is; a question without words: nothing.
  EXPECT_EQ(index->search("heat", 1'000'000, any_score).size(), 2u);
  EXPECT_TRUE(index->search(" ?! ", 5, any_score).empty());
}

TEST_F(corpora, documents_are_found_by_their_best_chunk_however_many_chunks_others_have) {
  std::string heat;
  for (int i = 0; i < 2000; ++i) {
    heat += "heat in slabs ";  // 19 chunks
  }
  corpus what = made("{\"document\":\"long\",\"text\":\"" + heat + "\"}\n" + two_documents);
  auto index = index_of(what);
  std::vector<float> question = index->texts().of("heat in slabs of wings");
  std::vector<found_document> found = index->search_documents(question, 3, any_score);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(index->search_documents(question, 100, any_score).size(), 3u);
}

TEST_F(corpora, a_document_that_is_replaced_is_found_by_its_new_text_only) {
  corpus what = made(two_documents);
  auto index = index_of(what);
  index->put(1, 1, "the fee is 3 %");
  std::vector<found_chunk> found = index->search("heat in slabs", 5, any_score);
  for (const found_chunk& each : found) {
    EXPECT_NE(each.chunk.text, fingerprint_of("heat in slabs"));
  }
  EXPECT_EQ(index->search("the fee", 1, 0).at(0).chunk.version, 1u);
  EXPECT_TRUE(index->remove(1));
  EXPECT_FALSE(index->remove(1));
  EXPECT_EQ(index->size(), 1u);
}

TEST_F(corpora, replacing_a_document_keeps_equal_chunks_and_says_how_many) {
  std::string a(1536, 'a'), b(1536, 'b'), c(1536, 'c'), d(100, 'd');
  chunk_index index{{}, {}, std::make_shared<hashed_embedder>(64)};
  EXPECT_EQ(index.put(0, 0, a + b + b + d).chunks, 4u);
  chunk_change change = index.put(0, 1, a + c + b + b + b + d);
  EXPECT_EQ(change.chunks, 6u);
  EXPECT_EQ(change.kept_chunks, 4u);  // a, two of the three b, d
  EXPECT_EQ(change.kept_bytes, 3u * 1536 + 100);
  EXPECT_EQ(change.prefix_chunks, 1u);
  EXPECT_EQ(change.prefix_bytes, 1536u);
  EXPECT_EQ(change.removed_chunks, 0u);
  EXPECT_EQ(index.put(0, 2, d).removed_chunks, 5u);
  EXPECT_EQ(index.size(), 1u);
  EXPECT_EQ(index.put(0, 3, "").removed_chunks, 1u);
  EXPECT_TRUE(index.chunks_of(0).empty());
}

TEST_F(corpora, documents_of_ten_million_characters_are_searched_like_others) {
  corpus what;
  what.documents = {{"long", std::string(10'000'000, ' ') + " heat"}, {"none", ""}};
  auto index = make_chunk_index(what, {chunk_rule::fixed, token_count{100'000}}, {},
                                std::make_shared<hashed_embedder>(64));
  EXPECT_EQ(index->size(), 26u);  // ceil(10,000,005 / 400,000)
  EXPECT_EQ(index->search("heat", 1, 0).at(0).chunk.place, 25u);
}

TEST(retrieval_quality, is_as_defined) {
  std::vector<judgement> relevant{{0, 3}, {1, 1}, {9, 2}};
  std::vector<found_document> found{{1, 0.9f}, {5, 0.8f}, {0, 0.7f}};
  EXPECT_DOUBLE_EQ(recall_at(found, relevant, 1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(recall_at(found, relevant, 100), 2.0 / 3);
  double best = 3 + 2 / std::log2(3.0) + 1 / 2.0;
  EXPECT_DOUBLE_EQ(ndcg_at(found, relevant, 3), (1 + 3 / 2.0) / best);
  EXPECT_DOUBLE_EQ(ndcg_at(found, relevant, 1), 1.0 / 3);
  EXPECT_EQ(ndcg_at({}, relevant, 10), 0);
  std::vector<neighbour> exact{{1, 0.9f}, {2, 0.5f}, {3, 0.5f}}, other{{1, 0.9f}, {3, 0.5f}};
  EXPECT_EQ(recall_of_exact(other, exact, 2), 1);  // 2 and 3 are equally near
  EXPECT_DOUBLE_EQ(recall_of_exact(other, exact, 3), 2.0 / 3);
  EXPECT_EQ(recall_of_exact({}, {}, 3), 1);
}

TEST_F(corpora, embeddings_from_a_file_must_cover_every_chunk_and_question) {
  corpus what = made(std::string{two_documents} + "{\"question\":\"q\",\"text\":\"heat\"}\n");
  std::string rows =
      "{\"text\":\"wings and slipstreams\",\"embedding\":[1,0]}\n"
      "{\"text\":\"heat in slabs\",\"embedding\":[0,1]}\n";
  std::string path = write(rows, "e");
  EXPECT_THAT(error_of([&] { make_embedder(what, {}, 0, path); }),
              testing::StartsWith(path + ": has no embedding of \"heat\""));
  path = write(rows + "{\"text\":\"heat\",\"embedding\":[0.1,1]}\n", "e");
  auto index = make_chunk_index(what, {}, {}, make_embedder(what, {}, 0, path));
  EXPECT_EQ(index->search("heat", 1, 0).at(0).chunk.document, 1u);
}

}  // namespace
}  // namespace refrain
