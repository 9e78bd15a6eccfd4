#include <cstring>
#include <fstream>
#include <string_view>

#include "temp_files.hpp"

namespace refrain {
namespace {

std::string record(std::uint32_t time, std::uint64_t id, std::uint32_t size,
                   std::int64_t next = -1) {
  std::string bytes(24, '\0');
  std::memcpy(bytes.data(), &time, 4);
  std::memcpy(bytes.data() + 4, &id, 8);
  std::memcpy(bytes.data() + 12, &size, 4);
  std::memcpy(bytes.data() + 16, &next, 8);
  return bytes;
}

using oracle_general = temp_files;

TEST_F(oracle_general, records_are_accesses_of_one_sized_object) {
  for (bool packed : {false, true}) {
    std::string bytes = record(10, UINT64_MAX, 3) + record(12, 0, UINT32_MAX, 9);
    auto rows = open_trace("oracle_general", {.path = write(packed ? pack("zstd", bytes) : bytes)});
    auto all = read_all(*rows);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].arrival, sim_time{0});
    EXPECT_EQ(all[1].arrival, std::chrono::seconds{2});
    EXPECT_THAT(all[0].blocks, testing::ElementsAre(block_key{UINT64_MAX}));
    EXPECT_EQ(all[1].object_size, UINT32_MAX);
    EXPECT_EQ(all[1].id, request_id{1});
    EXPECT_EQ(all[1].session, session_id{1});
    EXPECT_TRUE(rows->info().has_sizes);
    EXPECT_FALSE(rows->info().has_lengths);
    EXPECT_FALSE(rows->info().has_chains);
  }
}

TEST_F(oracle_general, more_records_than_a_buffer_come_in_order) {
  std::string bytes;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    bytes += record(i / 100, i, 1 + i % 7);
  }
  auto rows = open_trace("oracle_general", {.path = write(bytes)});
  std::uint64_t expected = 0;
  for (request row; rows->next(row); ++expected) {
    ASSERT_EQ(row.blocks.at(0).get(), expected);
    ASSERT_EQ(row.object_size, 1 + expected % 7);
  }
  EXPECT_EQ(expected, 50'000u);
}

TEST_F(oracle_general, a_cut_record_is_an_error_even_where_bad_rows_are_dropped) {
  auto path = write(record(0, 1, 1) + record(0, 2, 1).substr(0, 20));
  auto message = error_of([&] {
    auto rows = open_trace("oracle_general", {.path = path, .drop_bad_rows = true});
    read_all(*rows);
  });
  EXPECT_EQ(message, path + ": its size is not a multiple of 24 bytes: 20 bytes follow record 1");
}

TEST_F(oracle_general, size_zero_and_time_backwards_are_bad_rows) {
  auto path = write(record(5, 1, 1) + record(5, 2, 0) + record(4, 3, 1) + record(6, 4, 1));
  auto rows = open_trace("oracle_general", {.path = path, .drop_bad_rows = true});
  EXPECT_EQ(read_all(*rows).size(), 2u);
  EXPECT_EQ(rows->counts().rows_read, 4u);
  EXPECT_EQ(rows->counts().rows_dropped.at("object size is 0"), 1u);
  EXPECT_EQ(rows->counts().rows_dropped.at("time is lower than the previous record's"), 1u);
  auto strict = open_trace("oracle_general", {.path = path});
  EXPECT_EQ(error_of([&] { read_all(*strict); }), path + ":2: object size is 0");
}

TEST_F(oracle_general, an_empty_file_is_an_error) {
  auto path = write("");
  auto rows = open_trace("oracle_general", {.path = path});
  EXPECT_EQ(error_of([&] { read_all(*rows); }), path + ": holds no rows");
}

using vllm_requests = temp_files;

TEST_F(vllm_requests, spans_count_from_queueing) {
  auto rows = open_trace(
      "vllm_requests",
      {.path = write(R"({"request_id":"a","input_toks":7,"output_toks":2,"arrival_time":1.7e9,)"
                     R"("queued_ts":10.5,"first_token_ts":10.75,"last_token_ts":12})"
                     "\n"
                     R"({"input_toks":8,"output_toks":1,)"
                     R"("queued_ts":11,"first_token_ts":11,"last_token_ts":11})")});
  auto all = read_all(*rows);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].measured->ttft, std::chrono::milliseconds{250});
  EXPECT_EQ(all[0].measured->e2e, std::chrono::milliseconds{1500});
  EXPECT_EQ(all[1].arrival, std::chrono::milliseconds{500});
  EXPECT_TRUE(rows->info().has_measured);
  EXPECT_EQ(rows->info().id_scope, "none");
}

TEST_F(vllm_requests, spans_too_long_for_a_clock_are_bad_rows) {
  auto rows = open_trace(
      "vllm_requests",
      {.path = write(R"({"input_toks":7,"output_toks":2,"queued_ts":-4e9,"first_token_ts":4e9,)"
                     R"("last_token_ts":4e9})"
                     "\n"
                     R"({"input_toks":7,"output_toks":2,"queued_ts":6e9,"first_token_ts":6e9,)"
                     R"("last_token_ts":6e9})"),
       .drop_bad_rows = true});
  auto all = read_all(*rows);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].measured->ttft, std::chrono::seconds{8'000'000'000});
  EXPECT_EQ(rows->counts().rows_dropped.at(
                "\"queued_ts\" lies more than 292 years after what it is counted from"),
            1u);
}

TEST_F(vllm_requests, negative_spans_are_bad_rows) {
  auto row = [](const std::string& queued, const std::string& first, const std::string& last) {
    return R"({"input_toks":7,"output_toks":2,"queued_ts":)" + queued + R"(,"first_token_ts":)" +
           first + R"(,"last_token_ts":)" + last + "}\n";
  };
  auto rows = open_trace("vllm_requests", {.path = write(row("2", "3", "4") + row("2", "1", "4") +
                                                         row("2", "3", "2.5") + row("1", "3", "4")),
                                           .drop_bad_rows = true});
  EXPECT_EQ(read_all(*rows).size(), 1u);
  const auto& dropped = rows->counts().rows_dropped;
  EXPECT_EQ(dropped.at("\"first_token_ts\" lies before \"queued_ts\""), 1u);
  EXPECT_EQ(dropped.at("\"last_token_ts\" lies before \"first_token_ts\""), 1u);
  EXPECT_EQ(dropped.at("\"queued_ts\" is lower than the previous row's"), 1u);
}

TEST(trace_formats, are_all_registered_with_a_summary) {
  for (const char* name : {"agentic", "azure", "bailian", "burstgpt", "mooncake", "oracle_general",
                           "ragpulse", "refrain", "vllm_requests", "weka"}) {
    ASSERT_TRUE(trace_formats().contains(name)) << name;
    EXPECT_FALSE(trace_formats().at(name).summary.empty());
  }
  EXPECT_EQ(error_of([] { open_trace("moonkake", {.path = "x"}); }),
            "x: unknown trace format \"moonkake\"; did you mean \"mooncake\"?");
}

TEST(trace_formats, the_registry_holds_what_the_folder_holds) {
  std::size_t registrations = 0;
  constexpr std::string_view before = ".name = \"";
  for (const auto& file : std::filesystem::directory_iterator{REFRAIN_SOURCE_DIR "/traces"}) {
    if (!file.is_regular_file()) {
      continue;
    }
    std::ifstream in{file.path()};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (text.find("const register_trace_format") != std::string::npos) {
      ++registrations;
      std::size_t begin = text.find(before);
      ASSERT_NE(begin, std::string::npos) << file.path();
      begin += before.size();
      std::string name = text.substr(begin, text.find('"', begin) - begin);
      EXPECT_TRUE(trace_formats().contains(name)) << name;
      EXPECT_EQ(name, file.path().stem()) << "the file is named for the format";
    }
  }
  EXPECT_EQ(registrations, trace_formats().size());
}

}  // namespace
}  // namespace refrain
