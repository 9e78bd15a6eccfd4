// Bad rows and empty traces: the two ends of a reader that are the same for every format.
#include "traces/rows.hpp"

namespace refrain {

token_count block_tokens_of(const source_options& options, token_count standard) {
  if (options.block_tokens < 0) {
    throw input_error{options.path, "block_tokens must be at least 1"};
  }
  return options.block_tokens > 0 ? options.block_tokens : standard;
}

void check_id_count(const request& row, token_count block_tokens) {
  std::int64_t full = row.input_tokens / block_tokens;
  std::int64_t all = full + (row.input_tokens % block_tokens != 0);
  auto given = static_cast<std::int64_t>(row.blocks.size());
  if (given != full && given != all) {
    throw bad_row{"the number of ids does not fit the input length",
                  std::to_string(given) + " ids for " + std::to_string(row.input_tokens) +
                      " tokens; expected " + std::to_string(all) + " at " +
                      std::to_string(block_tokens) + " tokens a block"};
  }
}

void row_ledger::drop(const std::string& where, const bad_row& row) {
  input_error error{where, row.what()};
  if (!drop_bad_rows_) {
    throw error;
  }
  ++counts_.rows_read;
  ++counts_.rows_dropped[row.reason()];
  if (on_bad_row_) {
    on_bad_row_(error);
  }
}

void row_ledger::finish() const {
  if (counts_.rows_kept > 0) {
    return;
  }
  if (counts_.rows_read == 0) {
    throw input_error{path_, "holds no rows"};
  }
  throw input_error{path_,
                    "all " + std::to_string(counts_.rows_read) +
                        " rows are bad; the first kind: " + counts_.rows_dropped.begin()->first};
}

}  // namespace refrain
