// The pull interface: a trace is a stream of requests in trace order, so memory does not grow with
// its length. Readers and generators implement `source`; each registers the format it reads, and
// the command line finds it by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/corpus/token_book.hpp"
#include "traces/error.hpp"
#include "traces/request.hpp"
#include "traces/texts.hpp"

namespace refrain {

/// What a trace can and cannot tell.
struct trace_info {
  std::string format{};
  /// Tokens per block id; 0 where the trace has none.
  token_count block_tokens{};
  bool has_lengths = true;                    ///< rows carry input and output tokens
  bool has_chains = false;                    ///< rows carry block ids of a prefix chain
  bool has_content = false;                   ///< rows carry segments
  bool has_sessions = false;                  ///< rows of one conversation can be told
  bool has_measured = false;                  ///< rows carry measured times
  bool has_sizes = false;                     ///< rows are accesses of sized objects
  bool has_versions = false;                  ///< segments name documents and their versions
  bool has_hints = false;                     ///< rows say how long they want to be kept
  bool has_steps = false;                     ///< rows name their agent and the turns to come
  std::shared_ptr<const token_book> words{};  ///< which tokens texts have; null: not known
  std::shared_ptr<const text_table> texts{};  ///< what texts are like, where that is known
  bool has_truth = false;                     ///< `texts` judges which may stand in for which
  std::string id_scope{};  ///< within what an id means the same content: "trace", "session", "none"
  /// How far an arrival may lie before the one of an earlier row (spread arrivals only).
  sim_time disorder{0};
};

/// Rows as counted by a source so far: rows_read = rows_kept + all of rows_dropped.
struct row_counts {
  std::uint64_t rows_read = 0;
  std::uint64_t rows_kept = 0;
  std::map<std::string, std::uint64_t> rows_dropped;  ///< by reason
};

/// A stream of requests in trace order.
class source {
 public:
  virtual ~source() = default;
  virtual const trace_info& info() const = 0;
  /// Fills `out` with the next request; false at the end. Throws input_error naming file and line.
  virtual bool next(request& out) = 0;
  virtual const row_counts& counts() const = 0;
};

/// How to open a trace file.
struct source_options {
  std::string path{};
  token_count block_tokens{};  ///< tokens per id in the file; 0 = the format's own
  bool drop_bad_rows = false;  ///< drop (and count) rows that are wrong instead of stopping
  /// Is told of every dropped row, with its file, line and reason.
  std::function<void(const input_error&)> on_bad_row = nullptr;
};

/// One trace format.
struct trace_format {
  std::string_view name;
  std::string_view summary;  ///< one line: what it is, block size, id scope, what it cannot show
  std::unique_ptr<source> (*open)(const source_options&);
  /// The files that make up the trace at a path; null where it is that file alone.
  std::vector<std::string> (*files)(const std::string& path) = nullptr;
};

/// Makes a format known at start-up; a reader's file holds one as a static object.
struct register_trace_format {
  explicit register_trace_format(trace_format format);
};

/// Every format, by name.
const std::map<std::string_view, trace_format>& trace_formats();

/// Opens a trace. Throws input_error for an unknown format or an unreadable file.
std::unique_ptr<source> open_trace(std::string_view format, const source_options& options);

}  // namespace refrain
