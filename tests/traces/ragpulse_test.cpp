// RAGPulse: a folder of six files, parts as segments, two weeks in one file.
#include "public_traces.hpp"
#include "traces/describe.hpp"
#include "traces/scan.hpp"
#include "traces/sha256.hpp"

namespace refrain {
namespace {

using std::chrono::seconds;

std::string row(const std::string& time, const std::string& ids, const std::string& session = "s",
                int input = 100) {
  return "{\"timestamp\": \"" + time + "\", \"input_length\": " + std::to_string(input) +
         ", \"output_length\": 5, \"hash_ids\": {" + ids + "}, \"session_id\": \"" + session +
         "\"}\n";
}

constexpr const char* whole =
    R"("user_input": [40], "sys_prompt": [10, 11], "passages_ids": [0], "history": [20], )"
    R"("web_search": [30])";
constexpr const char* bare =
    R"("user_input": [40], "sys_prompt": [], "passages_ids": [], "history": [], "web_search": [])";

class ragpulse : public reader_test {
 protected:
  ragpulse() : reader_test{"ragpulse"} {}

  void SetUp() override {
    reader_test::SetUp();
    table("1_sys_prompt.jsonl", "sys_prompt_id", "10:20 11:8");
    table("2_passages.jsonl", "passage_id", "0:30 1:16");
    table("3_history.jsonl", "history_id", "20:11");
    write(pack("gzip", "{\"user_input_id\": 40, \"token_length\": 4}\n\n"),
          "4_user_input.jsonl.gz");
    write(pack("zstd", "{\"web_search_id\": 30, \"token_length\": 7}\n"), "5_web_search.jsonl.zst");
  }

  void table(const std::string& file, const std::string& id, std::string pairs) const {
    std::string text;
    std::istringstream in{pairs};
    for (std::string pair; in >> pair;) {
      std::size_t colon = pair.find(':');
      text += "{\"" + id + "\": " + pair.substr(0, colon) +
              ", \"token_length\": " + pair.substr(colon + 1) + "}\n";
    }
    write(text + "\n", file);
  }

  /// Why a row is bad after a good one.
  std::string reason_of(const std::string& bad) { return reason(row("100", whole) + bad); }
};

TEST_F(ragpulse, parts_become_segments_in_the_order_of_the_prompt) {
  auto rows = read(row("82", whole) + row("93", bare, "t"));
  ASSERT_EQ(rows.size(), 2u);
  std::vector<std::uint64_t> contents, tokens;
  std::vector<segment_kind> kinds;
  for (const segment& piece : rows[0].segments) {
    contents.push_back(piece.content);
    tokens.push_back(static_cast<std::uint64_t>(piece.tokens.get()));
    kinds.push_back(piece.kind);
  }
  EXPECT_THAT(contents, testing::ElementsAre(10, 11, 0, 20, 30, 40));
  EXPECT_THAT(tokens, testing::ElementsAre(20, 8, 30, 11, 7, 4));
  EXPECT_THAT(kinds, testing::ElementsAre(segment_kind::system, segment_kind::system,
                                          segment_kind::document, segment_kind::history,
                                          segment_kind::web, segment_kind::question));
  EXPECT_EQ(rows[0].input_tokens, 100) << "the template's tokens belong to no part";
  EXPECT_EQ(rows[1].arrival, seconds{11});
  EXPECT_EQ(rows[1].segments.size(), 1u);
  EXPECT_TRUE(rows_->info().has_content && rows_->info().has_sessions);
  EXPECT_FALSE(rows_->info().has_chains);
  EXPECT_EQ(rows_->info().block_tokens, 0);
  EXPECT_EQ(rows_->info().id_scope, "trace");
}

TEST_F(ragpulse, the_clock_restarts_once_by_a_week) {
  auto rows = read(row("604000", bare, "a") + row("10", bare, "b") + row("20", bare, "a"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].arrival, seconds{604'800 + 10 - 604'000});
  EXPECT_EQ(rows[2].arrival, seconds{604'800 + 20 - 604'000});
  EXPECT_EQ(rows[2].turn, 1u);
  EXPECT_TRUE(rows[1].last_turn && rows[2].last_turn);
  EXPECT_FALSE(rows[0].last_turn);
  std::string lower = "\"timestamp\" is lower than the previous row's";
  EXPECT_EQ(reason_of(row("99", bare)), lower);
  EXPECT_EQ(reason(row("500000", bare) + row("0", bare)), lower) << "not by a week";
  EXPECT_EQ(reason(row("604801", bare) + row("0", bare)), lower) << "by more than a week";
  EXPECT_EQ(reason(row("604000", bare) + row("10", bare) + row("604000", bare) + row("0", bare)),
            lower);
}

TEST_F(ragpulse, every_kind_of_bad_row_says_what_is_wrong) {
  std::string no_time = "\"timestamp\" is not a whole number of seconds from 0 to 1e9: ";
  EXPECT_EQ(reason_of(row("1.5", whole)), no_time + "1.5");
  EXPECT_EQ(reason_of(row("-1", whole)), no_time + "-1");
  EXPECT_EQ(reason_of(row("", whole)), no_time);
  EXPECT_EQ(reason_of(row("100", whole, "s", 79)),
            "the parts hold more tokens than \"input_length\": 80 of 79");
  EXPECT_EQ(reason_of(row("100", R"("sys_prompt": [])")),
            "\"hash_ids\" lacks a kind of part: passages_ids");
  EXPECT_EQ(reason_of(row("100", std::string{bare} + R"(, "tools": [])")),
            "a kind of part that the format does not have: tools");
  EXPECT_EQ(reason_of(row("100", std::string{bare} + R"(, "history": [20])")),
            "a field is given twice: history");
  std::string unknown = bare;
  unknown.replace(unknown.find("40"), 2, "20");
  EXPECT_EQ(reason_of(row("100", unknown)), "an id that its table does not hold: user_input 20");
  EXPECT_EQ(reason_of("{\"timestamp\": \"100\", \"input_length\": 9, \"output_length\": 1}\n"),
            "missing field \"hash_ids\"");
  EXPECT_EQ(reason_of("{\"timestamp\": \"100\", \"input_length\": 9, \"output_length\": 1, "
                      "\"hash_ids\": [1], \"session_id\": 1}\n"),
            "\"hash_ids\" is not an object of lists");
  EXPECT_EQ(reason_of("{\"timestamp\": \"100\", \"input_length\": 9, \"output_length\": 1, "
                      "\"hash_ids\": {" +
                      std::string{bare} + "}}\n"),
            "missing field \"session_id\"");
  EXPECT_EQ(reason_of("{\"input_length\": 9, \"output_length\": 1, \"session_id\": 1, "
                      "\"hash_ids\": {" +
                      std::string{bare} + "}}\n"),
            "missing field \"timestamp\"");
  EXPECT_EQ(reason_of("{\"timestamp\": \"100\"}\n"), "missing field \"input_length\"");
}

TEST_F(ragpulse, a_folder_and_its_trace_file_are_one_trace) {
  std::string text = row("82", whole);
  std::string file = write(pack("xz", text), "0_trace.jsonl.xz");
  auto rows = open_trace("ragpulse", {.path = folder_.string()});
  EXPECT_EQ(read_all(*rows).size(), 1u);
  std::string hash = scan_trace("ragpulse", {.path = folder_.string()}).sha256;
  EXPECT_EQ(scan_trace("ragpulse", {.path = file}).sha256, hash);
  EXPECT_NE(hash, sha256_of_file(file));
  table("3_history.jsonl", "history_id", "20:12");
  EXPECT_NE(scan_trace("ragpulse", {.path = file}).sha256, hash) << "the tables count";
}

TEST_F(ragpulse, says_what_is_wrong_with_its_tables) {
  std::string path = write(row("82", whole), "0_trace.jsonl");
  auto message = [&] { return error_of([&] { open_trace("ragpulse", {.path = path}); }); };
  table("3_history.jsonl", "history_id", "20:11 20:12");
  std::string history = (folder_ / "3_history.jsonl").string();
  EXPECT_EQ(message(), history + ":2: an id is given twice: 20");
  table("3_history.jsonl", "history_id", "20:0");
  EXPECT_EQ(message(), history + ":1: \"token_length\" is below 1");
  table("3_history.jsonl", "passage_id", "20:1");
  EXPECT_EQ(message(), history + ":1: missing field \"history_id\"");
  std::filesystem::remove(history);
  EXPECT_EQ(message(), folder_.string() +
                           ": holds no 3_history.jsonl, plain or packed (gz, xz, zst); a RAGPulse "
                           "trace is a folder of six files");
  std::filesystem::remove(path);
  EXPECT_EQ(message(),
            path + ": does not exist; expected a RAGPulse folder or the trace file in it");
  EXPECT_TRUE(error_of([&] {
                open_trace("ragpulse", {.path = folder_.string()});
              }).starts_with(folder_.string() + ": holds no 0_trace.jsonl"));
}

TEST_F(ragpulse, chunks_are_found_anywhere_or_in_an_exact_prefix) {
  auto ids = [](const std::string& passages) {
    return R"("sys_prompt": [10], "passages_ids": [)" + passages +
           R"(], "history": [], "web_search": [], "user_input": [40])";
  };
  write(row("0", ids("0, 1")) + row("1", ids("1, 0")) + row("2", ids("1, 0, 1")), "0_trace.jsonl");
  auto rows = open_trace("ragpulse", {.path = folder_.string()});
  trace_description found;
  describe_trace(*rows, found);
  const chunk_counts& all = found.chunks.all;
  EXPECT_EQ(all.accesses, 4u + 4 + 5);
  EXPECT_EQ(all.unique, 4u);
  EXPECT_EQ(all.hits, 0u + 4 + 5);
  EXPECT_EQ(all.prefix_hits, 0u + 1 + 3) << "system; system and two passages";
  EXPECT_EQ(all.prefix_hit_tokens, 20 + (20 + 16 + 30));
  const auto document = static_cast<std::size_t>(segment_kind::document);
  EXPECT_EQ(found.chunks.in_prompt[document].prefix_hits, 2u);
  EXPECT_EQ(found.chunks.alone[document].prefix_hits, 0u + 0 + 2);
  EXPECT_EQ(found.chunks.alone[document].accesses, 7u);
  EXPECT_EQ(found.chunks.alone[document].unique, 2u);
}

TEST_F(ragpulse, the_public_trace_has_its_published_figures) {
  std::string path = public_trace("ragpulse");
  if (path.empty()) {
    GTEST_SKIP() << "RAGPulse is not here";
  }
  auto rows = open_trace("ragpulse", {.path = path});
  std::vector<std::int64_t> input, output, beyond, turns;
  std::uint64_t without_history = 0;
  sim_time last{0}, week_two{0};
  std::uint64_t documents_none = 0, documents_six = 0;
  for (request row; rows->next(row);) {
    std::int64_t named = 0, documents = 0;
    for (const segment& piece : row.segments) {
      named += piece.tokens;
      documents += piece.kind == segment_kind::document;
      without_history += piece.content == content_id{15'200};
    }
    documents_none += documents == 0;
    documents_six += documents == 6;
    input.push_back(row.input_tokens);
    output.push_back(row.output_tokens);
    beyond.push_back(row.input_tokens - named);
    EXPECT_GE(row.arrival, last);
    last = row.arrival;
    week_two = row.id == request_id{3800} ? row.arrival : week_two;
    if (row.last_turn) {
      turns.push_back(row.turn + 1);
    }
  }
  EXPECT_EQ(conserved_rows(rows->counts()), 7106u);
  EXPECT_THAT(quantiles_of(input), testing::ElementsAre(1052, 1110, 3139, 3959, 5439, 7712));
  EXPECT_THAT(quantiles_of(output), testing::ElementsAre(7, 83, 234, 563, 891, 2183));
  EXPECT_THAT(quantiles_of(beyond), testing::ElementsAre(6, 7, 9, 12, 12, 12));
  EXPECT_THAT(quantiles_of(turns), testing::ElementsAre(1, 1, 1, 3, 8, 25));
  EXPECT_EQ(turns.size(), 3990u);
  EXPECT_EQ(without_history, 3673u);
  EXPECT_EQ(documents_none, 1465u);
  EXPECT_EQ(documents_six, 5454u);
  EXPECT_GE(week_two, seconds{604'800 - 82});
  EXPECT_LT(week_two, seconds{604'800 + 86'400});
}

}  // namespace
}  // namespace refrain
