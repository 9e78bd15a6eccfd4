// What every reader does with its rows, good or bad: count them, number the good ones, and stop at
// the first bad one or drop it under a short reason, as the options say.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "traces/error.hpp"
#include "traces/request.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A row that cannot be used. `reason` is short and the same for all rows with this fault (rows are
/// counted by it); what() adds the detail.
class bad_row : public std::runtime_error {
 public:
  explicit bad_row(std::string reason) : std::runtime_error{reason}, reason_{std::move(reason)} {}
  bad_row(std::string reason, const std::string& detail)
      : std::runtime_error{reason + ": " + detail}, reason_{std::move(reason)} {}

  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// Makes `out` an empty request, as a reader must before it fills it; its vectors keep their room.
inline void clear_request(request& out) {
  out.session = session_id{};
  out.turn = 0;
  out.last_turn = true;
  out.type = 0;
  out.arrival = out.delay = sim_time{0};
  out.input_tokens = out.output_tokens = token_count{};
  out.blocks.clear();
  out.segments.clear();
  out.answer = content_id{};
  out.salt = 0;
  out.object_size = 1;
  out.measured.reset();
  out.hint = {};
  out.agent = 0;
  out.upcoming.clear();
  out.planted = planted_edit::none;
}

/// Tokens per id: what the options say, or the format's own. Throws input_error for a negative one.
token_count block_tokens_of(const source_options& options, token_count standard);

/// Throws bad_row unless the row has an id for each full block of its input, and perhaps one for a
/// short last block.
void check_id_count(const request& row, token_count block_tokens);

/// The book a reader keeps over its rows.
class row_ledger {
 public:
  explicit row_ledger(const source_options& options)
      : path_{options.path},
        drop_bad_rows_{options.drop_bad_rows},
        on_bad_row_{options.on_bad_row} {}

  /// Counts and numbers a good row.
  void keep(request& out) {
    out.id = request_id{counts_.rows_kept++};
    ++counts_.rows_read;
  }
  /// Counts a bad row, or throws input_error{where, reason} where bad rows are not dropped.
  void drop(const std::string& where, const bad_row& row);
  /// To be called at the end: throws input_error when no row was kept.
  void finish() const;

  const row_counts& counts() const { return counts_; }

 private:
  std::string path_;
  bool drop_bad_rows_;
  std::function<void(const input_error&)> on_bad_row_;
  row_counts counts_;
};

}  // namespace refrain
