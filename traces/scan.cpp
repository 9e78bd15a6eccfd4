// Sessions are numbered from 0 as they appear, so the highest number tells how many there are.
#include "traces/scan.hpp"

#include <algorithm>

#include "traces/sha256.hpp"

namespace refrain {

namespace {

void add(trace_summary& sum, const request& row) {
  ++sum.requests;
  sum.sessions = std::max(sum.sessions, row.session.get() + 1);
  sum.blocks += row.blocks.size();
  sum.input_tokens += row.input_tokens;
  sum.output_tokens += row.output_tokens;
  sum.last_arrival = std::max(sum.last_arrival, row.arrival);
  sum.longest_prompt_tokens = std::max(sum.longest_prompt_tokens, row.input_tokens);
  sum.longest_prompt_blocks = std::max<std::uint64_t>(sum.longest_prompt_blocks, row.blocks.size());
}

}  // namespace

std::string sha256_of_trace(std::string_view format, const std::string& path) {
  auto list_files = trace_formats().at(format).files;
  if (list_files == nullptr) {
    return sha256_of_file(path);
  }
  std::string text;
  for (const std::string& file : list_files(path)) {
    text += sha256_of_file(file) + "  " + file.substr(file.rfind('/') + 1) + "\n";
  }
  return sha256_of_text(text);
}

trace_summary scan_trace(std::string_view format, const source_options& options,
                         std::uint64_t limit) {
  std::unique_ptr<source> rows = open_trace(format, options);
  trace_summary sum;
  request row;
  while (rows->next(row)) {
    if (limit == 0 || sum.requests < limit) {
      add(sum, row);
    }
  }
  sum.info = rows->info();
  sum.counts = rows->counts();
  sum.sha256 = sha256_of_trace(format, options.path);
  return sum;
}

}  // namespace refrain
