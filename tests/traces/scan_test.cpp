#include "traces/scan.hpp"

#include <unordered_set>

#include "temp_files.hpp"
#include "traces/adapt.hpp"
#include "traces/keys.hpp"
#include "traces/sha256.hpp"

namespace refrain {
namespace {

using scan = temp_files;

const std::string small =
    R"({"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[1,2],"session_id":1})"
    "\n"
    R"({"timestamp":9,"input_length":1100,"output_length":3,"hash_ids":[1,2,3],"session_id":2})"
    "\n"
    R"({"timestamp":9,"input_length":-3,"output_length":3,"session_id":2})"
    "\n"
    R"({"delay":9,"input_length":100,"output_length":5,"hash_ids":[4],"session_id":1})"
    "\n";

TEST_F(scan, sums_what_a_file_holds) {
  std::string path = write(pack("gzip", small));
  trace_summary sum = scan_trace("mooncake", {.path = path, .drop_bad_rows = true});
  EXPECT_EQ(sum.requests, 3u);
  EXPECT_EQ(sum.sessions, 2u);
  EXPECT_EQ(sum.blocks, 6u);
  EXPECT_EQ(sum.input_tokens, 1800);
  EXPECT_EQ(sum.output_tokens, 9);
  EXPECT_EQ(sum.last_arrival, std::chrono::milliseconds{9});
  EXPECT_EQ(sum.longest_prompt_tokens, 1100);
  EXPECT_EQ(sum.longest_prompt_blocks, 3u);
  EXPECT_EQ(sum.counts.rows_read, 4u);
  EXPECT_TRUE(sum.info.has_sessions);
  EXPECT_EQ(sum.sha256, sha256_of_file(path));
}

TEST_F(scan, limits_the_totals_but_reads_the_whole_file) {
  std::string path = write(small);
  trace_summary sum = scan_trace("mooncake", {.path = path, .drop_bad_rows = true}, 1);
  EXPECT_EQ(sum.requests, 1u);
  EXPECT_EQ(sum.input_tokens, 600);
  EXPECT_EQ(sum.counts.rows_kept, 3u);
  EXPECT_EQ(error_of([&] { scan_trace("mooncake", {.path = path}, 1); }),
            path + ":3: \"input_length\" is negative: -3")
      << "a bad row behind the limit is an error all the same";
}

TEST_F(scan, can_list_every_bad_row_even_where_none_is_good) {
  std::vector<std::string> bad;
  source_options options{.path = write("{}\n1\n{\"input_length\":0}\n"), .drop_bad_rows = true};
  options.on_bad_row = [&](const input_error& error) { bad.push_back(error.what()); };
  EXPECT_NE(error_of([&] { scan_trace("mooncake", options); }), "");
  ASSERT_EQ(bad.size(), 3u);
  EXPECT_EQ(bad[1], options.path + ":2: not a JSON object");
}

struct truth {
  const char* file;
  std::uint64_t requests, blocks, unique_blocks, block_hits;
  std::int64_t input_tokens, hit_tokens, span_ms, longest;
  double block_rate, token_rate, full_rate;
};

// knowledge/traces.md, section 3.
constexpr truth truths[] = {
    {"conversation_trace.jsonl.gz", 12'031, 288'500, 182'790, 105'710, 144'793'823, 54'098'411,
     3'536'999, 126'195, 0.366412, 0.373624, 0.373380},
    {"synthetic_trace.jsonl.gz", 3'993, 121'877, 43'924, 77'953, 61'194'628, 39'852'661, 1'022'025,
     191'378, 0.639604, 0.651244, 0.650431}};

class mooncake_truth : public testing::TestWithParam<truth> {
 protected:
  void SetUp() override {
    path_ = std::string{REFRAIN_SHARED_DATA} + "/mooncake/" + GetParam().file;
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << "the Mooncake traces are absent";
    }
  }

  struct reuse {
    std::uint64_t unique = 0, blocks = 0;
    std::int64_t tokens = 0;
  };

  /// Prefix hits of a cache without end, a request's blocks seen by later ones only.
  reuse endless_cache(token_count block, bool full_only) const {
    auto rows = open_trace("mooncake", {.path = path_});
    key_scheme scheme{block, rows->info().block_tokens, full_only};
    std::unordered_set<std::uint64_t> seen;
    std::vector<block_key> keys;
    reuse sum;
    for (request row; rows->next(row);) {
      block_keys(row, scheme, keys);
      std::size_t hits = 0;
      while (hits < keys.size() && seen.contains(keys[hits])) {
        ++hits;
      }
      sum.blocks += hits;
      sum.tokens +=
          std::min<std::int64_t>(static_cast<std::int64_t>(hits) * block, row.input_tokens);
      seen.insert(keys.begin(), keys.end());
    }
    sum.unique = seen.size();
    return sum;
  }

  std::string path_;
};

TEST_P(mooncake_truth, counts_and_sums_are_the_published_ones) {
  trace_summary sum = scan_trace("mooncake", {.path = path_});
  EXPECT_EQ(sum.requests, GetParam().requests);
  EXPECT_EQ(sum.sessions, GetParam().requests);
  EXPECT_EQ(sum.blocks, GetParam().blocks);
  EXPECT_EQ(sum.input_tokens, GetParam().input_tokens);
  EXPECT_EQ(sum.longest_prompt_tokens, GetParam().longest);
  EXPECT_EQ(sum.last_arrival, std::chrono::milliseconds{GetParam().span_ms});
  EXPECT_EQ(sum.counts.rows_read, GetParam().requests);
}

TEST_P(mooncake_truth, an_endless_cache_hits_as_often_as_published) {
  reuse all = endless_cache(token_count{512}, false);
  auto tokens = static_cast<double>(GetParam().input_tokens);
  EXPECT_EQ(all.unique, GetParam().unique_blocks);
  EXPECT_EQ(all.blocks, GetParam().block_hits);
  EXPECT_EQ(all.tokens, GetParam().hit_tokens);
  EXPECT_NEAR(static_cast<double>(all.blocks) / static_cast<double>(GetParam().blocks),
              GetParam().block_rate, 5e-7);
  EXPECT_NEAR(static_cast<double>(all.tokens) / tokens, GetParam().token_rate, 5e-7);
  reuse full = endless_cache(token_count{512}, true);
  EXPECT_NEAR(static_cast<double>(full.tokens) / tokens, GetParam().full_rate, 5e-7);
}

TEST_P(mooncake_truth, sub_blocks_hit_the_same_tokens) {
  EXPECT_EQ(endless_cache(token_count{128}, false).tokens, GetParam().hit_tokens);
}

TEST_P(mooncake_truth, spread_arrivals_keep_rows_and_stay_within_three_seconds) {
  auto opener = [&] { return open_trace("mooncake", {.path = path_}); };
  auto plain = opener();
  auto rows = adapt(opener, {.spread = std::chrono::seconds{3}, .seed = 1});
  std::uint64_t count = 0;
  for (request a, b; plain->next(a) && rows->next(b); ++count) {
    ASSERT_EQ(a.id, b.id);
    ASSERT_EQ(a.blocks, b.blocks);
    ASSERT_GE(b.arrival, a.arrival);
    ASSERT_LT(b.arrival, a.arrival + std::chrono::seconds{3});
  }
  EXPECT_EQ(count, GetParam().requests);
}

INSTANTIATE_TEST_SUITE_P(files, mooncake_truth, testing::ValuesIn(truths),
                         [](const auto& parameter) {
                           std::string name = parameter.param.file;
                           return name.substr(0, name.find('_'));
                         });

TEST(vllm_truth, a_measured_run_has_its_counts_and_means) {
  std::string path = std::string{REFRAIN_SHARED_DATA} +
                     "/gpu-profiles/llmservingsim/"
                     "bench__RTX4090__Llama-3.1-8B__vllm__requests.jsonl.xz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the measured run is absent";
  }
  trace_summary sum = scan_trace("vllm_requests", {.path = path});
  EXPECT_EQ(sum.requests, 300u);
  EXPECT_EQ(sum.input_tokens, 257'239);
  EXPECT_EQ(sum.output_tokens, 195'753);
  EXPECT_EQ(sum.sha256, "fa0b4fd00662e87d0518dd430be63185025e5f9d35c8ed5b3e68331a8957756d");
  auto rows = open_trace("vllm_requests", {.path = path});
  double ttft = 0, e2e = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> first;
  for (request row; rows->next(row);) {
    ttft += to_seconds(row.measured->ttft) / 300;
    e2e += to_seconds(row.measured->e2e) / 300;
    if (row.id < 8) {
      first.emplace_back(row.input_tokens, row.output_tokens);
    }
  }
  EXPECT_NEAR(ttft, 65.4566, 5e-5) << "TTFT mean of the run's own summary, 65,456.6 ms";
  EXPECT_NEAR(e2e, 86.5783, 5e-5) << "latency mean of the run's own summary, 86,578.3 ms";
  using pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_THAT(first, testing::ElementsAre(pair{2358, 531}, pair{1034, 769}, pair{1320, 769},
                                          pair{685, 769}, pair{298, 526}, pair{399, 520},
                                          pair{1307, 758}, pair{1379, 519}));
}

}  // namespace
}  // namespace refrain
