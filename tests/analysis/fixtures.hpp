// What the tests of result files share: a folder of their own, and tables whose every value tells
// its row.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "analysis/results_writer.hpp"
#include "tests/temporary_folder.hpp"

namespace refrain {

/// A folder that is gone after the test.
class results_test : public testing::Test {
 protected:
  std::filesystem::path in_folder(const std::string& name) const { return folder_ / name; }

  temporary_folder made_;
  std::filesystem::path folder_ = made_.path();
};

inline run_description two_contenders() {
  return {"A scenario",
          "name = \"A scenario\"\n# unit: \xC2\xB5s\n",
          18446744073709551615u,
          "0.1.0",
          "abcdef",
          std::string(64, '0'),
          {{"kv.block_tokens", "512"}, {"workload.format", "mooncake"}},
          {{"zebra", {{"policies.eviction", "lru"}}}, {"ape \xC3\xA9", {}}}};
}

/// Rows first .. first + count - 1 of a table with one column of each type.
inline table numbered_rows(std::size_t first, std::size_t count) {
  table t{{integer_column("row", "requests", "the row's number"),
           real_column("half_s", "s", "half of it"), text_column("name", "its name")}};
  for (std::size_t i = first; i < first + count; ++i) {
    t.columns[0].integers().push_back(static_cast<std::int64_t>(i));
    t.columns[1].reals().push_back(static_cast<double>(i) / 2);
    t.columns[2].texts().push_back("row " + std::to_string(i));
  }
  return t;
}

/// Expects rows 0 .. count - 1 of `numbered_rows`.
inline void expect_numbered(const table& t, std::size_t count) {
  table expected = numbered_rows(0, count);
  ASSERT_TRUE(t.same_columns(expected));
  ASSERT_EQ(t.rows(), count);
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    EXPECT_EQ(t.columns[i].values, expected.columns[i].values) << t.columns[i].name;
    EXPECT_EQ(t.columns[i].unit, expected.columns[i].unit);
    EXPECT_EQ(t.columns[i].description, expected.columns[i].description);
  }
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// One served request of the `requests` table; the rest of its columns is 0.
struct request_row {
  double ttft_s = 0;
  double e2e_s = 0;
  double finish_s = 0;
  std::int64_t input_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t status = 0;
};

/// The `requests` table of `rows`, with the columns that a summary reads.
inline table requests_table(const std::vector<request_row>& rows) {
  table t;
  auto integers = [&](const char* name, auto get) {
    column& c = t.columns.emplace_back(integer_column(name, "", ""));
    for (const request_row& row : rows) {
      c.integers().push_back(get(row));
    }
  };
  auto reals = [&](const char* name, auto get) {
    column& c = t.columns.emplace_back(real_column(name, "s", ""));
    for (const request_row& row : rows) {
      bool defined = row.status == 0;
      c.reals().push_back(defined ? get(row) : std::numeric_limits<double>::quiet_NaN());
    }
  };
  using row = request_row;
  integers("status", [](const row& r) { return r.status; });
  reals("ttft_s", [](const row& r) { return r.ttft_s; });
  reals("tpot_s", [](const row& r) {
    return (r.e2e_s - r.ttft_s) / static_cast<double>(r.output_tokens - 1);
  });
  reals("e2e_s", [](const row& r) { return r.e2e_s; });
  reals("queue_s", [](const row& r) { return r.ttft_s / 2; });
  reals("finish_s", [](const row& r) { return r.finish_s; });
  integers("input_tokens", [](const row& r) { return r.input_tokens; });
  integers("output_tokens", [](const row& r) { return r.output_tokens; });
  integers("hit_tokens", [](const row& r) { return r.hit_tokens; });
  integers("hit_tokens_gpu", [](const row& r) { return r.hit_tokens; });
  integers("computed_tokens", [](const row& r) { return r.input_tokens - r.hit_tokens; });
  for (const char* name :
       {"hit_tokens_host", "hit_tokens_nvme", "hit_tokens_remote", "hit_tokens_exact",
        "hit_tokens_blended", "hit_tokens_approximate", "stale_tokens", "hit_blocks",
        "preempted_tokens", "moved_bytes", "routable_tokens", "routed_tokens"}) {
    integers(name, [](const row&) { return 0; });
  }
  return t;
}

}  // namespace refrain
