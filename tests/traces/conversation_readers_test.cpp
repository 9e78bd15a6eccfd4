// WEKA, Bailian and the agentic dialect: block ids with conversations around them.
#include "public_traces.hpp"
#include "traces/describe.hpp"

namespace refrain {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Value, class Get>
std::vector<Value> all_of(const std::vector<request>& rows, Get get) {
  std::vector<Value> values;
  for (const request& row : rows) {
    values.push_back(static_cast<Value>(get(row)));
  }
  return values;
}

std::vector<std::uint64_t> sessions_of(const std::vector<request>& rows) {
  return all_of<std::uint64_t>(rows, [](const request& row) { return row.session.get(); });
}
std::vector<std::uint32_t> turns_of(const std::vector<request>& rows) {
  return all_of<std::uint32_t>(rows, [](const request& row) { return row.turn; });
}
std::vector<bool> last_turns_of(const std::vector<request>& rows) {
  return all_of<bool>(rows, [](const request& row) { return row.last_turn; });
}
std::vector<double> delays_of(const std::vector<request>& rows) {
  return all_of<double>(rows, [](const request& row) { return to_seconds(row.delay); });
}

class weka : public reader_test {
 protected:
  weka() : reader_test{"weka"} {}

  static std::string conversation(const std::string& requests) {
    return R"({"id":"c","block_size":64,"hash_id_scope":"local","requests":[)" + requests + "]}\n";
  }
  static std::string plain(const std::string& rest = R"(,"api_time":2)",
                           const std::string& t = "0") {
    return R"({"t":)" + t + R"(,"type":"n","in":130,"out":5,"hash_ids":[1,2])" + rest + "}";
  }
  /// Why a request is bad that follows a good one of its conversation.
  std::string reason_of(const std::string& bad) {
    std::string text = reason(conversation(plain() + "," + bad));
    EXPECT_EQ(rows_->counts().rows_kept, 1u);
    return text;
  }
};

TEST_F(weka, conversations_are_sessions_that_start_at_zero) {
  auto rows =
      read(conversation(plain(R"(,"think_time":4,"api_time":2)", "3") + "," +
                        plain(R"(,"think_time":1.5,"api_time":1)", "7") + "," + plain("", "10")) +
           conversation(plain()));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(sessions_of(rows), testing::ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(turns_of(rows), testing::ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(last_turns_of(rows), testing::ElementsAre(false, false, true, true));
  EXPECT_THAT(delays_of(rows), testing::ElementsAre(0, 1.5, 2, 0));
  for (const request& row : rows) {
    EXPECT_EQ(row.arrival, sim_time{0});
    EXPECT_EQ(row.blocks.size(), 2u);
  }
  EXPECT_EQ(rows[0].blocks, rows[2].blocks);
  EXPECT_NE(rows[0].blocks, rows[3].blocks) << "ids mean nothing outside their conversation";
  EXPECT_EQ(rows_->info().block_tokens, 64);
  EXPECT_EQ(rows_->info().id_scope, "session");
  EXPECT_TRUE(rows_->info().has_chains && rows_->info().has_sessions);
  EXPECT_FALSE(rows_->info().has_content);
}

TEST_F(weka, a_wait_that_nobody_recorded_is_what_the_clock_leaves) {
  auto rows = read(conversation(plain(R"(,"stop":"")", "3") + "," +
                                plain(R"(,"think_time":70)", "8") + "," + plain("", "8")));
  EXPECT_THAT(delays_of(rows), testing::ElementsAre(0, 5, 0));
}

TEST_F(weka, a_subagent_shares_the_ids_of_its_parent_and_has_a_clock_of_its_own) {
  std::string inner =
      plain(R"(,"api_time":1)", "1") + "," + plain(R"(,"think_time":0.5,"api_time":1)", "3");
  auto rows =
      read(conversation(plain() + R"(,{"type":"subagent","t":4,"agent_id":"x","requests":[)" +
                        inner + "]}," + plain(R"(,"think_time":30)", "20")));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(sessions_of(rows), testing::Each(0));
  EXPECT_THAT(turns_of(rows), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(delays_of(rows), testing::ElementsAre(0, 4 + 1 - 2, 0.5, 20 - (4 + 3 + 1)));
  EXPECT_EQ(rows[1].blocks, rows[0].blocks);
  EXPECT_EQ(conserved_rows(rows_->counts()), 4u);
}

TEST_F(weka, an_output_of_zero_and_one_object_over_many_lines_are_good) {
  auto rows = read(
      "{\n  \"block_size\": 64,\n  \"requests\": [\n    {\"t\": 0, \"in\": 63,\n"
      "     \"out\": 0, \"hash_ids\": []}\n  ]\n}\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].output_tokens, 0);
  EXPECT_TRUE(rows[0].blocks.empty());
}

TEST_F(weka, lines_of_megabytes_are_read) {
  std::string ids = "1";
  for (int i = 2; i <= 400'000; ++i) {
    ids += "," + std::to_string(i);
  }
  auto rows = read(conversation(R"({"t":0,"in":25600001,"out":1,"hash_ids":[)" + ids + "]}"));
  EXPECT_EQ(rows.at(0).blocks.size(), 400'000u);
}

TEST_F(weka, every_kind_of_bad_request_says_what_is_wrong) {
  EXPECT_EQ(reason_of(R"({"t":0,"in":64,"out":1})"), "missing field \"hash_ids\"");
  EXPECT_EQ(reason_of(R"({"t":0,"out":1,"hash_ids":[]})"), "missing field \"in\"");
  EXPECT_EQ(reason_of(R"({"t":0,"in":64,"hash_ids":[1]})"), "missing field \"out\"");
  EXPECT_EQ(reason_of(R"({"in":64,"out":1,"hash_ids":[1]})"), "missing field \"t\"");
  EXPECT_EQ(reason_of(R"({"t":0,"in":65,"out":1,"hash_ids":[1,2]})"),
            "the number of ids does not fit the input length: 2 ids for 65 tokens; expected 1, one "
            "for each full block of 64");
  EXPECT_EQ(reason_of(R"({"t":-1,"in":64,"out":1,"hash_ids":[1]})"),
            "\"t\" is negative or above ten years");
  EXPECT_EQ(reason_of(R"({"t":1,"in":64,"out":1,"hash_ids":[1],"think_time":-1})"),
            "\"think_time\" is negative or above ten years");
  EXPECT_EQ(reason_of(R"({"t":1,"in":64,"out":1,"hash_ids":[1],"hash_ids":[1]})"),
            "a field is given twice: hash_ids");
  EXPECT_EQ(reason_of(R"({"t":1,"type":"subagent"})"), "missing field \"requests\"");
  EXPECT_EQ(reason_of(R"({"t":1,"type":"subagent","requests":7})"), "\"requests\" is not an array");
  EXPECT_EQ(reason(conversation(plain("", "5") + "," + plain("", "4"))),
            "\"t\" is lower than the previous request's");
  std::string deep = plain();
  for (int i = 0; i < 9; ++i) {
    deep = R"({"t":0,"type":"subagent","requests":[)" + deep + "]}";
  }
  EXPECT_EQ(reason_of(deep), "subagents are nested deeper than 8");
}

TEST_F(weka, a_bad_request_is_named_by_its_number_and_the_others_stay) {
  std::vector<std::string> told;
  auto rows = read(conversation(plain() + R"(,{"t":1},)" + plain("", "2")) + conversation("") +
                       conversation(R"({"t":1})") + conversation(plain()),
                   {.drop_bad_rows = true,
                    .on_bad_row = [&](const input_error& e) { told.push_back(e.what()); }});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(sessions_of(rows), testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(turns_of(rows), testing::ElementsAre(0, 1, 0));
  std::string path = (folder_ / "trace").string();
  EXPECT_THAT(told, testing::ElementsAre(path + ":1, request 2: missing field \"in\"",
                                         path + ":3, request 1: missing field \"in\""));
  EXPECT_EQ(conserved_rows(rows_->counts()), 5u);
}

TEST_F(weka, a_conversation_that_cannot_be_read_is_one_bad_row) {
  auto of = [&](const std::string& line) { return reason(conversation(plain()) + line + "\n"); };
  EXPECT_EQ(of(R"({"block_size":64})"), "missing field \"requests\"");
  EXPECT_EQ(of(R"({"requests":[]})"), "missing field \"block_size\"");
  EXPECT_EQ(of(R"({"block_size":32,"requests":[]})"), "\"block_size\" is not 64: 32");
  EXPECT_EQ(of(R"({"block_size":64,"hash_id_scope":"global","requests":[]})"),
            "\"hash_id_scope\" is not \"local\": global");
  EXPECT_EQ(of("[]"), "not a JSON object");
  EXPECT_EQ(of(R"({"block_size":64,"requests":[7]})"), "not a JSON object");
  EXPECT_EQ(of(R"({"block_size":64,"requests":[)").substr(0, 8), "not JSON");
}

TEST_F(weka, the_public_small_set_has_its_published_figures) {
  std::string path = public_trace("weka-agentic/traces_small.jsonl.gz");
  if (path.empty()) {
    GTEST_SKIP() << "the WEKA conversations are not here";
  }
  auto rows = open_trace("weka", {.path = path});
  trace_description found;
  describe_trace(*rows, found);
  const endless_counts& e = found.endless;
  EXPECT_EQ(conserved_rows(found.counts), 449u);
  EXPECT_EQ(found.sessions, 60u);
  EXPECT_EQ(e.accesses, 299'032u);
  EXPECT_EQ(e.unique, 54'196u);
  EXPECT_EQ(e.block_hits, 244'836u);
  EXPECT_EQ(e.prefix_hits, 244'836u);
  EXPECT_EQ(e.input_tokens, 19'152'526);
  EXPECT_EQ(e.hit_tokens, 15'669'504);
  EXPECT_EQ(e.full_hit_tokens, 15'669'504);
  EXPECT_EQ(e.any_hit, 389u);
  EXPECT_EQ(e.wholly_hit, 0u);
  EXPECT_NEAR(e.ratio_sum / 449, 0.802636, 5e-7);
  std::vector<double> shares{0, 0.1, 0.5, 0.9, 0.99, 1};
  EXPECT_THAT(found.input.at(shares),
              testing::ElementsAre(9925, 15'653, 33'642, 73'434, 135'787, 153'588));
  EXPECT_THAT(found.output.at(shares), testing::ElementsAre(16, 101, 280, 1949, 5698, 8312));
  EXPECT_THAT(found.turns.at(shares), testing::ElementsAre(3, 3, 7, 13, 18, 18));
}

class bailian : public reader_test {
 protected:
  bailian() : reader_test{"bailian"} {}

  static std::string chat(const std::string& id, const std::string& parent, const std::string& time,
                          const std::string& rest = "") {
    return R"({"chat_id":)" + id + R"(,"parent_chat_id":)" + parent + R"(,"timestamp":)" + time +
           R"(,"input_length":20,"output_length":3,"type":"text","turn":1,"hash_ids":[7,8])" +
           rest + "}\n";
  }
};

TEST_F(bailian, a_chat_follows_its_parent) {
  auto rows = read(chat("1", "-1", "5.5") + chat("2", "-1", "6") + chat("3", "1", "7") +
                   chat("4", "3", "9.25") + chat("5", "99", "10") + chat("6", "1", "11"));
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_THAT(sessions_of(rows), testing::ElementsAre(0, 1, 0, 0, 2, 3));
  EXPECT_THAT(turns_of(rows), testing::ElementsAre(0, 0, 1, 2, 0, 0));
  EXPECT_THAT(last_turns_of(rows), testing::ElementsAre(false, true, false, true, true, true));
  EXPECT_EQ(rows[3].arrival, milliseconds{3750});
  EXPECT_EQ(rows[3].delay, sim_time{0});
  EXPECT_EQ(rows[0].input_tokens, 20) << "the whole request, whatever the turn";
  EXPECT_THAT(rows[0].blocks, testing::ElementsAre(block_key{7}, block_key{8}));
  EXPECT_EQ(rows_->info().block_tokens, 16);
  EXPECT_EQ(rows_->info().id_scope, "trace");
}

TEST_F(bailian, types_are_numbered_as_they_come) {
  auto typed = [&](const std::string& id, const std::string& type) {
    std::string row = chat(id, "-1", "5");
    row.replace(row.find("\"text\""), 6, type);
    return row;
  };
  auto rows = read(typed("1", "\"search\"") + typed("2", "\"text\"") + typed("3", "\"search\"") +
                   typed("4", "\"file\"") + typed("5", "\"text\""));
  std::vector<std::uint32_t> types;
  for (const request& row : rows) {
    types.push_back(row.type);
  }
  EXPECT_THAT(types, testing::ElementsAre(0, 1, 0, 2, 1));
  EXPECT_EQ(category_of(rows[3]), 16u);
}

TEST_F(bailian, every_kind_of_bad_row_says_what_is_wrong) {
  auto of = [&](const std::string& row) { return reason(chat("1", "-1", "5") + row); };
  EXPECT_EQ(of(chat("2", "1", "4.9")), "\"timestamp\" is lower than the previous row's");
  EXPECT_EQ(reason(chat("1", "-1", "5") + chat("1", "-1", "6")),
            "\"chat_id\" is that of an earlier row: 1");
  EXPECT_EQ(of(chat("2", "1", "6", R"(,"turn":2)")), "a field is given twice: turn");
  EXPECT_EQ(of(chat("2", "1", "6", R"(,"type":"x")")), "a field is given twice: type");
  EXPECT_EQ(of(chat("2", "1", "6", R"(,"hash_ids":[])")), "a field is given twice: hash_ids");
  EXPECT_EQ(of(chat("2.5", "1", "6")), "\"chat_id\" is neither a string nor an integer: 2.5");
  EXPECT_EQ(of("{\"chat_id\":2,\"parent_chat_id\":1,\"timestamp\":6,\"input_length\":20,"
               "\"output_length\":3,\"turn\":1}\n"),
            "missing field \"hash_ids\"");
  EXPECT_EQ(of("{\"chat_id\":2,\"parent_chat_id\":1,\"timestamp\":6,\"input_length\":20,"
               "\"output_length\":3,\"turn\":1,\"hash_ids\":[1,2,3]}\n")
                .substr(0, 46),
            "the number of ids does not fit the input lengt");
  EXPECT_EQ(of("{\"timestamp\":6,\"input_length\":20,\"output_length\":3,\"hash_ids\":[1]}\n"),
            "missing field \"turn\"");
  EXPECT_EQ(of("{\"turn\":1,\"timestamp\":6,\"input_length\":9,\"output_length\":3,"
               "\"hash_ids\":[]}\n"),
            "missing field \"chat_id\"");
  EXPECT_EQ(reason(chat("1", "-1", "5") + "{}\n"), "missing field \"input_length\"");
  EXPECT_EQ(
      error_of([&] { read(chat("1", "-1", "-5")); }).substr((folder_ / "trace").string().size()),
      ":1: \"timestamp\" is negative");
}

class agentic : public reader_test {
 protected:
  agentic() : reader_test{"agentic"} {}

  static std::string row(const std::string& id, const std::string& rest) {
    return R"({"request_id":")" + id + R"(","input_length":600,"output_length":3,)" + rest + "}\n";
  }
};

TEST_F(agentic, a_row_that_waits_for_one_is_the_next_turn) {
  auto rows =
      read(row("a", R"("timestamp":1000,"hash_ids":[1,2],"branches":[],"wait_for":[])") +
           row("b", R"("timestamp":1250.5,"hash_ids":[1])") +
           row("c", R"("wait_for":["a"],"delay":10,"tool_wait_ms":5.5,"prefix_reset":true,)"
                    R"("tool_events":[{"name":"x","ms":3}],"hash_ids":[1,3],"session_id":"s")") +
           row("d", R"("wait_for":["c"],"timestamp":1)"));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(sessions_of(rows), testing::ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(turns_of(rows), testing::ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(last_turns_of(rows), testing::ElementsAre(false, true, false, true));
  EXPECT_THAT(delays_of(rows), testing::ElementsAre(0, 0, testing::DoubleEq(0.0155), 0));
  EXPECT_EQ(rows[1].arrival, std::chrono::microseconds{250'500});
  EXPECT_EQ(rows[2].arrival, sim_time{0}) << "as early as its session";
  EXPECT_EQ(rows_->info().block_tokens, 512);
  EXPECT_TRUE(rows_->info().has_chains);
}

TEST_F(agentic, a_trace_without_ids_has_no_chains) {
  read(row("a", R"("timestamp":0)"));
  EXPECT_FALSE(rows_->info().has_chains);
  EXPECT_EQ(rows_->info().block_tokens, 0);
  EXPECT_EQ(rows_->info().id_scope, "none");
}

TEST_F(agentic, what_a_request_cannot_express_is_refused_with_that_reason) {
  std::string two = row("a", R"("timestamp":0)") + row("b", R"("timestamp":0)");
  EXPECT_EQ(reason(two + row("c", R"("wait_for":["a","b"])")),
            "waits for several requests, which a request cannot express yet: 2 in \"wait_for\"");
  std::string unknown =
      "waits for a request that no good row before it has, or that another row waits for already, "
      "which a request cannot express yet: ";
  EXPECT_EQ(reason(two + row("c", R"("wait_for":["a"])") + row("d", R"("wait_for":["a"])")),
            unknown + "a");
  EXPECT_EQ(reason(two + row("c", R"("wait_for":["later"])")), unknown + "later");
}

TEST_F(agentic, every_kind_of_bad_row_says_what_is_wrong) {
  auto of = [&](const std::string& rest) {
    return reason(row("a", R"("timestamp":5)") + row("b", rest));
  };
  EXPECT_EQ(of(R"("delay":5)"), "missing field \"timestamp\"");
  EXPECT_EQ(of(R"("timestamp":4)"),
            "\"timestamp\" is lower than that of the row before that waits for none");
  EXPECT_EQ(of(R"("wait_for":["a"],"tool_wait_ms":-1)"),
            "\"tool_wait_ms\" is negative or above 100 years");
  EXPECT_EQ(of(R"("wait_for":"a")"), "\"wait_for\" is not an array");
  EXPECT_EQ(of(R"("timestamp":5,"branches":7)"), "\"branches\" is not an array");
  EXPECT_EQ(of(R"("timestamp":5,"prefix_reset":1)"),
            "\"prefix_reset\" is neither true nor false: 1");
  EXPECT_EQ(of(R"("timestamp":5,"input_tokens":5)"), "a field is given twice: input_tokens");
  EXPECT_EQ(of(R"("timestamp":5,"hash_ids":[1,2,3])").substr(0, 30),
            "the number of ids does not fit");
  EXPECT_EQ(reason(row("a", R"("timestamp":5)") + row("a", R"("timestamp":5)")),
            "\"request_id\" is that of an earlier row: a");
  EXPECT_EQ(reason(row("a", R"("timestamp":5)") +
                   "{\"timestamp\":5,\"input_length\":1,\"output_length\":1}\n"),
            "missing field \"request_id\"");
}

}  // namespace
}  // namespace refrain
