// Bad rows and empty traces: the two ends of a reader that are the same for every format.
#include "traces/rows.hpp"

namespace refrain {

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
