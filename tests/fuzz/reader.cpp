// Any bytes as a trace of one format (REFRAIN_FUZZ_FORMAT): the reader may refuse them, by
// input_error only, and what it does accept must keep the promises of its interface.
#include <array>
#include <filesystem>
#include <fstream>

#include "memory_file.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/decompress.hpp"
#include "traces/describe.hpp"
#include "traces/input_file.hpp"
#include "traces/write_trace.hpp"

namespace {

using namespace refrain;

constexpr std::size_t unpacked_bytes_max = std::size_t{1} << 14;

/// A kilobyte may unpack to a million rows, and the first thousands of them tell as much.
bool unpacks_to_too_much(const memory_file& file, std::string_view bytes) {
  if (packing_of(bytes) == packing::plain) {
    return false;
  }
  static std::array<char, unpacked_bytes_max + 1> unpacked;
  try {
    return input_file{file.path()}.read(unpacked.data(), unpacked.size()) == unpacked.size();
  } catch (const input_error&) {
    return false;
  }
}

void check_counts(const row_counts& counts) {
  std::uint64_t dropped = 0;
  for (const auto& [reason, count] : counts.rows_dropped) {
    dropped += count;
  }
  REFRAIN_ASSERT(counts.rows_read == counts.rows_kept + dropped);
}

/// Checks and prints every row on its way.
class checked_rows final : public source {
 public:
  explicit checked_rows(std::unique_ptr<source> inner) : inner_{std::move(inner)} {}

  const trace_info& info() const override { return inner_->info(); }
  const row_counts& counts() const override { return inner_->counts(); }
  bool next(request& out) override {
    if (!inner_->next(out)) {
      return false;
    }
    check(out);
    text_.clear();
    append_row(text_, info(), out);
    return true;
  }

 private:
  void check(const request& row) {
    REFRAIN_ASSERT(row.id.get() == number_++);
    REFRAIN_ASSERT(!info().has_lengths || (row.input_tokens >= 1 && row.output_tokens >= 0));
    REFRAIN_ASSERT(row.arrival >= sim_time{0} && row.delay >= sim_time{0});
    REFRAIN_ASSERT(row.object_size >= 1);
    REFRAIN_ASSERT(info().has_sessions || (row.turn == 0 && row.last_turn));
    REFRAIN_ASSERT(row.arrival >= sim_time{0});
    REFRAIN_ASSERT(info().has_chains || info().has_sizes || row.blocks.empty());
    REFRAIN_ASSERT(info().has_content || row.segments.empty());
  }

  std::unique_ptr<source> inner_;
  std::uint64_t number_ = 0;
  std::string text_;
};

/// Some formats are more than one file: the bytes are the trace, the tables beside it stay the
/// same.
class folder_around {
 public:
  explicit folder_around(const std::string& trace) {
    std::filesystem::create_symlink(trace, folder_.path() / "0_trace.jsonl");
    write("1_sys_prompt", "sys_prompt_id", 10);
    write("2_passages", "passage_id", 0);
    write("3_history", "history_id", 20);
    write("4_user_input", "user_input_id", 40);
    write("5_web_search", "web_search_id", 30);
  }

  std::string path() const { return folder_.path().string(); }

 private:
  void write(const std::string& file, const std::string& id, int first) const {
    std::ofstream out{folder_.path() / (file + ".jsonl")};
    for (int i = 0; i < 3; ++i) {
      out << "{\"" << id << "\": " << first + i << ", \"token_length\": " << 5 * (i + 1) << "}\n";
    }
  }

  temporary_folder folder_;
};

/// The path at which the bytes are found.
std::string path_of(const memory_file& file) {
  if (std::string_view{REFRAIN_FUZZ_FORMAT} != "ragpulse") {
    return file.path();
  }
  static const folder_around folder{file.path()};
  return folder.path();
}

/// False where the bytes were refused.
bool read(const source_options& options) {
  try {
    checked_rows rows{open_trace(REFRAIN_FUZZ_FORMAT, options)};
    trace_description description;
    try {
      describe_trace(rows, description);
    } catch (const input_error&) {
      check_counts(rows.counts());
      throw;
    }
    check_counts(rows.counts());
    return true;
  } catch (const input_error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const memory_file file;
  file.write(data, size);
  if (unpacks_to_too_much(file, {reinterpret_cast<const char*>(data), size})) {
    return 0;
  }
  std::string path = path_of(file);
  if (!read({.path = path})) {
    read({.path = path, .drop_bad_rows = true});
  }
  return 0;
}
