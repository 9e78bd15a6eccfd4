// What the tests of readers ask of a source beyond its rows: the public data, where it is, the
// quantiles of lengths, and what becomes of one bad row after a good one.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "temp_files.hpp"

namespace refrain {

/// A path of the public traces, or "" where they are absent.
inline std::string public_trace(const std::string& name) {
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

/// min, p10, p50, p90, p99, max by nearest rank.
inline std::vector<std::int64_t> quantiles_of(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<std::int64_t> found;
  for (double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    found.push_back(values.at(std::max<std::size_t>(rank, 1) - 1));
  }
  return found;
}

/// rows_read, and that it is the sum of kept and dropped ones.
inline std::uint64_t conserved_rows(const row_counts& counts) {
  std::uint64_t sum = counts.rows_kept;
  for (const auto& [reason, count] : counts.rows_dropped) {
    sum += count;
  }
  EXPECT_EQ(sum, counts.rows_read);
  return counts.rows_read;
}

/// One format, and files of it as text.
class reader_test : public temp_files {
 protected:
  explicit reader_test(std::string format) : format_{std::move(format)} {}

  std::vector<request> read(const std::string& text, source_options options = {}) {
    options.path = write(text, "trace");
    rows_ = open_trace(format_, options);
    return read_all(*rows_);
  }

  /// Why the last line of `text` is bad; drops it, too, and sees that the rows are conserved.
  std::string reason(const std::string& text) {
    auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    std::string message = error_of([&] { read(text); });
    std::string where = (folder_ / "trace").string() + ":" + std::to_string(lines);
    EXPECT_TRUE(message.starts_with(where)) << message;
    EXPECT_EQ(error_of([&] { read(text, {.drop_bad_rows = true}); }), "");
    EXPECT_GT(conserved_rows(rows_->counts()), rows_->counts().rows_kept);
    std::size_t at = message.find(": ");
    return at == std::string::npos ? message : message.substr(at + 2);
  }

  std::string format_;
  std::unique_ptr<source> rows_;
};

}  // namespace refrain
