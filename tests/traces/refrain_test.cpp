// The format "refrain": what is written comes back, and what does not belong is refused by name.
#include <filesystem>

#include "temp_files.hpp"
#include "traces/generator.hpp"
#include "traces/random.hpp"
#include "traces/write_trace.hpp"

namespace refrain {
namespace {

/// Requests from memory, with the attributes given.
class given_rows final : public source {
 public:
  given_rows(trace_info info, std::vector<request> rows)
      : info_{std::move(info)}, rows_{std::move(rows)} {}
  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return counts_; }
  bool next(request& out) override {
    if (at_ == rows_.size()) {
      return false;
    }
    out = rows_[at_++];
    return true;
  }

 private:
  trace_info info_;
  std::vector<request> rows_;
  row_counts counts_;
  std::size_t at_ = 0;
};

/// A row as the format prints it: equal texts mean equal requests, but for turns and ids.
std::string text_of(const trace_info& info, const request& row) {
  std::string text = std::to_string(row.id) + " " + std::to_string(row.turn) + " " +
                     (row.last_turn ? "last " : "");
  append_row(text, info, row);
  return text;
}

std::vector<std::string> texts_of(source& rows) {
  std::vector<std::string> texts;
  for (const request& row : read_all(rows)) {
    texts.push_back(text_of(rows.info(), row));
  }
  return texts;
}

class refrain_format : public temp_files {
 protected:
  std::string header_ =
      "{\"format\":\"refrain\",\"version\":1,\"block_tokens\":16,\"id_scope\":\"trace\","
      "\"chains\":true,\"content\":true,\"sessions\":true,\"measured\":true}\n";

  std::string new_path() const { return (folder_ / "written.jsonl").string(); }

  /// What is wrong with the second line, a row below `header_`.
  std::string row_error(const std::string& row) const {
    std::string path = write(header_ + row + "\n");
    std::string message = error_of([&] { read_all(*open_trace("refrain", {.path = path})); });
    std::string start = path + ":2: ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
  std::string header_error(const std::string& header) const {
    std::string path = write(header + "\n");
    std::string message = error_of([&] { open_trace("refrain", {.path = path}); });
    std::string start = path + ":1: the header: ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
};

TEST_F(refrain_format, holds_everything_that_a_request_holds) {
  trace_info info{.format = "x",
                  .block_tokens = token_count{16},
                  .has_chains = true,
                  .has_content = true,
                  .has_sessions = true,
                  .has_measured = true,
                  .id_scope = "session",
                  .disorder = sim_time{7}};
  request first;
  first.last_turn = false;
  first.type = UINT32_MAX;
  first.arrival = sim_time{INT64_C(8'999'999'999'999'998'977)};
  first.input_tokens = token_count{33};
  first.output_tokens = content_tokens_max;
  first.blocks = {block_key{0}, block_key{UINT64_MAX}, block_key{UINT64_MAX - 1}};
  first.segments = {{content_id{UINT64_MAX}, token_count{1}, segment_kind::system},
                    {content_id{2}, token_count{2}, segment_kind::history},
                    {content_id{3}, token_count{3}, segment_kind::document},
                    {content_id{4}, token_count{4}, segment_kind::question},
                    {content_id{5}, token_count{23}, segment_kind::answer}};
  first.answer = content_id{UINT64_MAX - 7};
  first.salt = UINT64_MAX - 3;
  first.measured = measured_times{.ttft = sim_time{1}, .e2e = sim_time{INT64_MAX / 2}};
  request second;
  second.id = request_id{1};
  second.turn = 1;
  second.arrival = first.arrival;
  second.delay = sim_time{123'456'789'012'345};
  second.input_tokens = token_count{1};
  given_rows rows{info, {first, second}};
  EXPECT_EQ(write_trace(rows, new_path()), 2u);
  auto again = open_trace("refrain", {.path = new_path()});
  EXPECT_EQ(again->info().format, "refrain");
  EXPECT_EQ(again->info().disorder, sim_time{7});
  EXPECT_EQ(again->info().id_scope, "session");
  auto read = read_all(*again);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(text_of(info, read[0]), text_of(info, first));
  EXPECT_EQ(text_of(info, read[1]), text_of(info, second));
  EXPECT_EQ(read[0].segments[1].kind, segment_kind::history);
  EXPECT_EQ(read[0].answer, first.answer);
  EXPECT_EQ(read[0].type, UINT32_MAX);
  EXPECT_EQ(read[1].type, 0u);
  EXPECT_EQ(again->counts().rows_read, 2u);
}

TEST_F(refrain_format, gives_back_a_generated_workload_request_for_request) {
  generator_settings settings{.requests = 500, .turns_mean = 4};
  auto rows = make_generator(settings, 3);
  EXPECT_EQ(write_trace(*rows, new_path()), 500u);
  auto again = open_trace("refrain", {.path = new_path()});
  EXPECT_EQ(texts_of(*again), texts_of(*make_generator(settings, 3)));
}

TEST_F(refrain_format, gives_back_interleaved_sessions_and_their_last_turns) {
  std::string mooncake;
  random_stream random{4, "interleaved"};
  for (int i = 0; i < 300; ++i) {
    auto session = std::to_string(random.below(20));
    mooncake += "{\"timestamp\": " + std::to_string(i * 10) +
                ", \"input_length\": 600, \"output_length\": 1, \"session_id\": \"" + session +
                "\", \"hash_ids\": [" + session + ", " + std::to_string(1000 + i) +
                "], \"delay\": " + std::to_string(random.below(3)) + "}\n";
  }
  std::string path = write(mooncake, "mooncake.jsonl");
  auto rows = open_trace("mooncake", {.path = path});
  write_trace(*rows, new_path());
  auto original = open_trace("mooncake", {.path = path});
  auto again = open_trace("refrain", {.path = new_path()});
  EXPECT_EQ(again->info().block_tokens, 512);
  EXPECT_EQ(texts_of(*again), texts_of(*original));
}

TEST_F(refrain_format, gives_back_accesses_of_sized_objects) {
  request row;
  row.blocks = {block_key{UINT64_MAX}};
  row.object_size = UINT32_MAX;
  given_rows rows{{.format = "x", .has_lengths = false, .has_sizes = true, .id_scope = "trace"},
                  {row, row}};
  write_trace(rows, new_path());
  auto again = read_all(*open_trace("refrain", {.path = new_path()}));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].object_size, UINT32_MAX);
  EXPECT_EQ(again[1].session, session_id{1});
  EXPECT_THAT(again[1].blocks, testing::ElementsAre(block_key{UINT64_MAX}));
}

TEST_F(refrain_format, is_never_written_over_a_file_and_leaves_none_where_it_fails) {
  std::string path = write("kept", "kept.jsonl");
  auto rows = make_generator({.requests = 3}, 1);
  EXPECT_EQ(error_of([&] { write_trace(*rows, path); }), path + ": exists; name a new file");
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
  std::string bad = write("{\"timestamp\": 0}\n");
  auto bad_rows = open_trace("mooncake", {.path = bad});
  EXPECT_NE(error_of([&] { write_trace(*bad_rows, new_path()); }), "");
  EXPECT_FALSE(std::filesystem::exists(new_path()));
}

TEST_F(refrain_format, names_what_is_wrong_with_a_row) {
  std::string good = R"({"input":20,"output":1,"session":7,"blocks":[1])";
  EXPECT_EQ(row_error(good + "}"), "");
  EXPECT_EQ(row_error(R"({"output":1,"session":7})"), "missing field \"input\"");
  EXPECT_EQ(row_error(R"({"input":20,"output":1})"), "missing field \"session\"");
  EXPECT_EQ(row_error(good + R"(,"hash_ids":[1]})"),
            "a field that the format does not have: hash_ids");
  EXPECT_EQ(row_error(good + R"(,"blocks":[1]})"), "a field is given twice: blocks");
  EXPECT_EQ(row_error(R"({"input":20,"output":1,"session":7,"blocks":[]})"),
            "the number of ids does not fit the input length: 0 ids for 20 tokens; expected 2 at "
            "16 tokens a block");
  EXPECT_EQ(row_error(good + R"(,"segments":[["text",1,1]]})"), "a segment of unknown kind: text");
  EXPECT_EQ(row_error(good + R"(,"segments":[["system",1]]})"),
            "a segment is not [KIND, CONTENT, TOKENS]");
  EXPECT_EQ(row_error(good + R"(,"segments":[["system",1,12],["answer",1,12]]})"),
            "the segments hold more tokens than \"input\": 24");
  std::string large = R"({"input":20000000,"session":7,"segments":[["system",1,)";
  EXPECT_EQ(row_error(large + R"(10000000]],"output":20000000})"), "");
  EXPECT_EQ(row_error(large + R"(10000001]],"output":1})"),
            "a prompt or an answer of more than 1e7 tokens by content");
  EXPECT_EQ(row_error(large + R"(1]],"output":10000001,"answer":1})"),
            "a prompt or an answer of more than 1e7 tokens by content");
  EXPECT_EQ(row_error(good + R"(,"salt":-1})"),
            "\"salt\" is not a whole number from 0 to 2^64 - 1: -1");
  EXPECT_EQ(row_error(good + R"(,"size":2})"),
            "\"size\" in a file whose header does not say \"sizes\"");
  EXPECT_EQ(row_error(good + R"(,"ttft_ns":2})"), "\"ttft_ns\" and \"e2e_ns\" go together");
  EXPECT_EQ(row_error(good + R"(,"ttft_ns":2,"e2e_ns":1})"),
            "\"ttft_ns\" is negative or above \"e2e_ns\"");
  EXPECT_EQ(row_error(good + R"(,"delay_ns":2})"), "\"delay_ns\" of a first turn");
  EXPECT_EQ(row_error(good + R"(,"arrival_ns":-2})"), "\"arrival_ns\" or \"delay_ns\" is negative");
  EXPECT_EQ(row_error("7"), "not a JSON object");
}

TEST_F(refrain_format, refuses_a_clock_that_runs_backwards) {
  auto file = header_ + R"({"input":1,"output":1,"session":1,"arrival_ns":9})" + "\n" +
              R"({"input":1,"output":1,"session":2,"arrival_ns":8})" + "\n";
  std::string path = write(file);
  EXPECT_EQ(error_of([&] { read_all(*open_trace("refrain", {.path = path})); }),
            path + ":3: \"arrival_ns\" is lower than the previous row's");
}

TEST_F(refrain_format, names_what_is_wrong_with_a_header) {
  EXPECT_EQ(header_error(R"({"input":1})"), "a field that the format does not have: input");
  EXPECT_EQ(header_error("{}"), "expected {\"format\": \"refrain\", \"version\": 1, ...}");
  EXPECT_EQ(header_error(R"({"format":"refrain","version":2})"), "expected \"version\": 1");
  EXPECT_EQ(header_error(R"({"format":"refrain","version":1,"chains":true})"),
            "\"chains\" and \"block_tokens\" go together");
  EXPECT_EQ(header_error(R"({"format":"refrain","version":1,"id_scope":"world"})"),
            "\"id_scope\" is none of \"trace\", \"session\", \"none\"");
  EXPECT_EQ(header_error(R"({"format":"refrain","version":1,"lengths":false})"),
            "rows carry either \"lengths\" or \"sizes\"");
  EXPECT_EQ(header_error(R"({"format":"refrain","version":1,"chains":1})"),
            "\"chains\" is neither true nor false: 1");
  std::string empty = write("");
  EXPECT_EQ(error_of([&] { open_trace("refrain", {.path = empty}); }), empty + ": holds no rows");
  std::string path = write(header_);
  EXPECT_EQ(error_of([&] { read_all(*open_trace("refrain", {.path = path})); }),
            path + ": holds no rows");
  EXPECT_EQ(
      error_of([&] { open_trace("refrain", {.path = path, .block_tokens = token_count{512}}); }),
      path + ": its header says block_tokens is 16, not 512");
}

TEST_F(refrain_format, counts_turns_as_if_dropped_rows_had_not_been_there) {
  std::string path = write(header_ + R"({"input":1,"output":1,"session":1})" + "\n" +
                           R"({"input":0,"output":1,"session":1})" + "\n" +
                           R"({"input":1,"output":1,"session":1,"delay_ns":4})" + "\n" +
                           R"({"input":1,"output":-1,"session":1})" + "\n");
  auto rows = open_trace("refrain", {.path = path, .drop_bad_rows = true});
  auto all = read_all(*rows);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].turn, 1u);
  EXPECT_FALSE(all[0].last_turn);
  EXPECT_TRUE(all[1].last_turn);
  EXPECT_EQ(rows->counts().rows_dropped.size(), 2u);
}

}  // namespace
}  // namespace refrain
