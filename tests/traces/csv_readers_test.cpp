// Azure and BurstGPT: columns by name, times of many forms, failed requests, sessions.
#include "public_traces.hpp"

namespace refrain {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class azure : public reader_test {
 protected:
  azure() : reader_test{"azure"} {}

  std::string reason_of(const std::string& row) {
    return reason("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.5,7,1\r\n" + row +
                  "\n");
  }
};

TEST_F(azure, reads_carriage_returns_seven_digits_and_no_final_newline) {
  auto rows = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 23:59:59.9799600,4808,10\r\n"
      "2023-11-17 00:00:00.0319601,3180,0");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].arrival, sim_time{0});
  EXPECT_EQ(rows[1].arrival, sim_time{52'000'100});
  EXPECT_EQ(rows[0].input_tokens, 4808);
  EXPECT_EQ(rows[1].output_tokens, 0);
  EXPECT_EQ(rows[1].session, session_id{1});
  EXPECT_FALSE(rows_->info().has_chains || rows_->info().has_content || rows_->info().has_sessions);
  EXPECT_EQ(rows_->info().id_scope, "none");
  EXPECT_EQ(conserved_rows(rows_->counts()), 2u);
}

TEST_F(azure, reads_columns_by_name_and_times_in_utc) {
  auto rows = read(
      "NumImages,GeneratedTokens,TIMESTAMP,ContextTokens\n"
      "0,1,2024-02-29 00:00:00,5\n"
      "2,3,2024-03-01 00:00:00.000009+00:00,6\n"
      "2,3,2024-03-01 00:00:01.1234567891Z,6\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].arrival, std::chrono::hours{24} + std::chrono::microseconds{9});
  EXPECT_EQ(rows[2].arrival, std::chrono::hours{24} + sim_time{1'123'456'789});
  EXPECT_EQ(rows[1].input_tokens, 6);
  EXPECT_EQ(rows[1].output_tokens, 3);
}

TEST_F(azure, every_kind_of_bad_row_says_what_is_wrong) {
  std::string time = "\"TIMESTAMP\" is not \"YYYY-MM-DD HH:MM:SS.fraction\" in UTC: ";
  for (const char* bad :
       {"2023-11-16", "2023-11-16T18:17:03", "2023-13-16 18:17:03", "2023-02-29 18:17:03",
        "2023-11-16 24:17:03", "2023-11-16 18:60:03", "2023-11-16 18:17:03.", "23-11-16 18:17:03",
        "2023-11-16 18:17:03.5+01:00", "2023-11-16 18:17:-3", "", "2023-11-16 18:17:3"}) {
    EXPECT_EQ(reason_of(std::string{bad} + ",1,1"), time + bad);
  }
  EXPECT_EQ(reason_of("2023-11-16 18:17:03.4999999,1,1"),
            "\"TIMESTAMP\" is lower than the previous row's");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,0,1"), "\"ContextTokens\" is below 1");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,-4,1"), "\"ContextTokens\" is negative: -4");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,4.0,1"),
            "\"ContextTokens\" is not a whole number: \"4.0\"");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,4,1000000001"),
            "\"GeneratedTokens\" is above 1e9: 1000000001");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,4"),
            "the number of fields is not the header's: 2 fields, expected 3");
  EXPECT_EQ(reason_of("2023-11-16 18:17:04,4,1,9"),
            "the number of fields is not the header's: 4 fields, expected 3");
  EXPECT_EQ(reason_of("\"2023-11-16 18:17:04\",4,1"),
            "a quoted field; fields of this format are plain");
}

TEST_F(azure, says_what_is_wrong_with_a_header) {
  std::string path = (folder_ / "trace").string();
  EXPECT_EQ(error_of([&] { read(""); }), path + ": holds no rows");
  EXPECT_EQ(error_of([&] { read("TIMESTAMP,ContextTokens\n"); }),
            path +
                ":1: the header lacks the column \"GeneratedTokens\"; it has \"TIMESTAMP\", "
                "\"ContextTokens\"");
  EXPECT_EQ(error_of([&] { read("a,b,a\n"); }),
            path + ":1: the header names a column twice: \"a\"");
  EXPECT_EQ(error_of([&] { read("\"a\",b\n"); }),
            path + ":1: the header: a quoted field; fields of this format are plain");
  EXPECT_EQ(error_of([&] { read("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"); }),
            path + ": holds no rows");
}

TEST_F(azure, the_public_code_trace_has_its_published_figures) {
  std::string path = public_trace("azure-llm-2023/AzureLLMInferenceTrace_code.csv.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the Azure trace is not here";
  }
  auto rows = open_trace("azure", {.path = path});
  std::vector<std::int64_t> context, generated;
  std::int64_t context_sum = 0, generated_sum = 0;
  sim_time last{0}, before{-1};
  std::size_t distinct = 0;
  for (request row; rows->next(row); before = last) {
    context.push_back(row.input_tokens);
    generated.push_back(row.output_tokens);
    context_sum += row.input_tokens;
    generated_sum += row.output_tokens;
    last = row.arrival;
    distinct += last > before;
  }
  EXPECT_EQ(conserved_rows(rows->counts()), 8819u);
  EXPECT_EQ(distinct, 8819u);
  EXPECT_EQ(last, std::chrono::microseconds{3'435'948'056});
  EXPECT_THAT(quantiles_of(context), testing::ElementsAre(3, 147, 1469, 5194, 7436, 7437));
  EXPECT_THAT(quantiles_of(generated), testing::ElementsAre(6, 7, 13, 55, 252, 1899));
  EXPECT_EQ(context_sum, 18'059'974);
  EXPECT_EQ(generated_sum, 245'896);
}

class burstgpt : public reader_test {
 protected:
  burstgpt() : reader_test{"burstgpt"} {}

  static constexpr const char* first_header =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  static constexpr const char* third_header =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
      "Log Type\n";

  std::string reason_of(const std::string& row) {
    return reason(third_header + std::string{"10.0,a,2,GPT-4,5,5,10,API log\n"} + row + "\n");
  }
};

TEST_F(burstgpt, reads_the_columns_of_the_first_file) {
  auto rows = read(first_header + std::string{"5,ChatGPT,472,18,490,Conversation log\n"
                                              "45,GPT-4,7,0,7,API log\n"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].input_tokens, 472);
  EXPECT_EQ(rows[0].output_tokens, 18);
  EXPECT_EQ(rows[1].arrival, seconds{40});
  EXPECT_EQ(rows[1].output_tokens, 0);
  EXPECT_FALSE(rows_->info().has_sessions);
}

TEST_F(burstgpt, sessions_keep_their_times_and_the_gap_after_the_reply) {
  auto rows = read(third_header + std::string{"10.0,b,2,m,5,5,10,Conversation log\n"
                                              "11.0,,3,m,6,5,11,API log\n"
                                              "15.0,b,,m,7,5,12,Conversation log\n"
                                              "15.0,a,9,m,7,5,12,Conversation log\n"
                                              "16.0,a,9,m,8,5,13,Conversation log\n"});
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_TRUE(rows_->info().has_sessions);
  std::vector<std::uint64_t> sessions, turns;
  std::vector<bool> last;
  for (const request& row : rows) {
    sessions.push_back(row.session);
    turns.push_back(row.turn);
    last.push_back(row.last_turn);
  }
  EXPECT_THAT(sessions, testing::ElementsAre(0, 1, 0, 2, 2));
  EXPECT_THAT(turns, testing::ElementsAre(0, 0, 1, 0, 1));
  EXPECT_THAT(last, testing::ElementsAre(false, true, true, false, true));
  EXPECT_EQ(rows[2].arrival, seconds{5});
  EXPECT_EQ(rows[2].delay, seconds{3});
  EXPECT_EQ(rows[4].delay, sim_time{0}) << "sent before the reply was complete";
}

TEST_F(burstgpt, every_kind_of_bad_row_says_what_is_wrong) {
  EXPECT_EQ(reason_of("11,a,0,m,0,0,0,Conversation log"),
            "a failed request: no request and no response tokens");
  EXPECT_EQ(reason_of("11,a,0,m,0,4,4,Conversation log"),
            "\"Request tokens\" is 0 in a row with response tokens");
  EXPECT_EQ(reason_of("9,a,0,m,1,4,5,Conversation log"),
            "\"Timestamp\" is lower than the previous row's");
  EXPECT_EQ(reason_of("noon,a,0,m,1,4,5,Conversation log"),
            "\"Timestamp\" is not a number of seconds: \"noon\"");
  EXPECT_EQ(reason_of("-3,a,0,m,1,4,5,Conversation log"),
            "\"Timestamp\" is negative or above 100 years: \"-3\"");
  EXPECT_EQ(reason_of("11,a,-1,m,1,4,5,Conversation log"),
            "\"Elapsed time\" is negative or above 100 years: \"-1\"");
  EXPECT_EQ(reason_of("11,a,inf,m,1,4,5,Conversation log"),
            "\"Elapsed time\" is not a number of seconds: \"inf\"");
  EXPECT_EQ(reason_of("11,a,1,m,x,4,5,Conversation log"),
            "\"Request tokens\" is not a whole number: \"x\"");
  EXPECT_EQ(reason_of("11,a,1,m,1,-4,5,Conversation log"), "\"Response tokens\" is negative: -4");
  EXPECT_EQ(reason_of("11,a,1"), "the number of fields is not the header's: 3 fields, expected 8");
}

TEST_F(burstgpt, a_failed_request_is_no_turn_of_its_session) {
  auto rows = read(third_header + std::string{"10,a,1,m,5,5,10,Conversation log\n"
                                              "12,a,1,m,0,0,0,Conversation log\n"
                                              "20,a,1,m,5,5,10,Conversation log\n"
                                              "30,a,0,m,0,0,0,Conversation log\n"},
                   {.drop_bad_rows = true});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].turn, 1u);
  EXPECT_TRUE(rows[1].last_turn);
  EXPECT_EQ(rows[1].delay, seconds{9});
  EXPECT_EQ(conserved_rows(rows_->counts()), 4u);
}

/// A head of one of the public files; failed requests count as the zeros that they are in the file.
struct published_head {
  explicit published_head(const std::string& path) {
    rows = open_trace("burstgpt", {.path = path, .drop_bad_rows = true});
    for (request row; rows->next(row);) {
      request_tokens.push_back(row.input_tokens);
      response_tokens.push_back(row.output_tokens);
      request_sum += row.input_tokens;
      response_sum += row.output_tokens;
      last = row.arrival;
      if (row.turn > 0) {
        gaps.push_back(row.delay / seconds{1});
      }
      if (row.last_turn) {
        turns.push_back(row.turn + 1);
      }
    }
    failed = rows->counts().rows_dropped.at("a failed request: no request and no response tokens");
    request_tokens.resize(request_tokens.size() + failed);
    response_tokens.resize(response_tokens.size() + failed);
  }

  std::unique_ptr<source> rows;
  std::vector<std::int64_t> request_tokens, response_tokens, gaps, turns;
  std::int64_t request_sum = 0, response_sum = 0;
  std::uint64_t failed = 0;
  sim_time last{0};
};

TEST_F(burstgpt, the_head_of_the_first_file_has_its_published_figures) {
  std::string path = public_trace("burstgpt-sample/burstgpt_1_head400.csv.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the BurstGPT heads are not here";
  }
  published_head head{path};
  EXPECT_EQ(conserved_rows(head.rows->counts()), 400u);
  EXPECT_EQ(head.failed, 17u);
  EXPECT_EQ(head.last, seconds{37'269});
  EXPECT_THAT(quantiles_of(head.request_tokens),
              testing::ElementsAre(0, 19, 308, 1416, 1958, 2126));
  EXPECT_THAT(quantiles_of(head.response_tokens),
              testing::ElementsAre(0, 15, 229, 570, 1421, 2019));
  EXPECT_EQ(head.request_sum, 208'189) << "mean 520.472";
  EXPECT_EQ(head.response_sum, 110'612) << "mean 276.53";
}

TEST_F(burstgpt, the_head_of_the_third_file_has_its_published_figures) {
  std::string path = public_trace("burstgpt-sample/burstgpt_3_head400.csv.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the BurstGPT heads are not here";
  }
  published_head head{path};
  EXPECT_EQ(conserved_rows(head.rows->counts()), 400u);
  EXPECT_EQ(head.failed, 1u);
  EXPECT_EQ(head.last, seconds{41'453});
  EXPECT_THAT(quantiles_of(head.request_tokens),
              testing::ElementsAre(0, 25, 308, 1134, 5866, 25'085));
  EXPECT_THAT(quantiles_of(head.response_tokens), testing::ElementsAre(0, 16, 101, 420, 862, 1101));
  EXPECT_EQ(head.request_sum, 246'941) << "mean 617.352";
  EXPECT_EQ(head.response_sum, 68'350) << "mean 170.875";
  // 135 named sessions, one of which is a failed request only, and 6 rows without a name.
  EXPECT_EQ(head.turns.size(), 134u + 6);
  EXPECT_EQ(quantiles_of(head.turns).at(5), 24);
  EXPECT_EQ(head.gaps.size(), 259u);
  EXPECT_THAT(quantiles_of(head.gaps), testing::ElementsAre(2, 17, 116, 1377, 6040, 8859));
}

}  // namespace
}  // namespace refrain
