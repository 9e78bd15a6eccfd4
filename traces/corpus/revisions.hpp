// How documents changed over time: a stream of revisions, JSON lines, plain or packed, in order of
// time. Each adds a document under a path, gives it a new text, or takes it away:
//
//   {"commit": "7690ab", "time": 1419262344, "op": "A", "path": "a.md", "blob": "5f1a", "bytes": 3,
//    "text": "one"}
//
// `time` is in seconds since 1970, `op` is A, M or D; a deletion has no text. `blob` (what names
// the text) and `bytes` may be left out. Fields beside these are passed over. All is held in
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/corpus/chunker.hpp"
#include "traces/corpus/corpus.hpp"

namespace refrain {

/// What a revision does to its document.
enum class revision_op : std::uint8_t { add, modify, remove };

/// One revision.
struct revision {
  std::int64_t seconds = 0;  ///< since 1970
  revision_op op = revision_op::add;
  std::uint32_t document = 0;  ///< into revision_history::documents
  std::string commit{};
  std::string text{};  ///< UTF-8; empty for a removal
};

/// A stream of revisions, all of it.
struct revision_history {
  std::string source;                  ///< the file's name
  std::vector<std::string> documents;  ///< paths, in order of first appearance
  std::vector<revision> events;
};

/// Reads a stream. Throws input_error naming file and line where a time lies before the one above
/// it, an op is unknown, a path is added twice or changed or removed while it is not there, a text
/// is missing, is no UTF-8 or has another length than `bytes` says; also for a file without any.
revision_history read_revisions(const std::string& path);

/// The documents as they are after the first `events` revisions, in order of their numbers.
corpus corpus_after(const revision_history& history, std::size_t events);

/// A quantity's 10th, 50th and 90th percentile and its maximum (nearest rank); zeros of
/// nothing.
struct revision_spread {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double most = 0;
};

/// A stream in figures.
struct revision_figures {
  std::uint64_t added = 0, modified = 0, removed = 0;
  std::uint64_t commits = 0;
  std::int64_t first_second = 0, last_second = 0;
  std::uint64_t live_documents = 0, peak_documents = 0;
  std::uint64_t live_bytes = 0;     ///< at the end
  std::uint64_t version_bytes = 0;  ///< of all texts that there ever were
  revision_spread live_sizes;       ///< bytes of the documents at the end
  revision_spread edits;            ///< of each path that was edited
  /// Of an edit's new text: the share that is an unchanged prefix of the old one, and the share in
  /// lines that the old one had.
  revision_spread kept_prefix, kept_lines;
};

/// Counts them.
revision_figures describe_revisions(const revision_history& history);

/// What edits leave of chunks: those before the first that changed (prefix), or all whose text the
/// document had before (chunk).
struct chunk_survival {
  std::uint64_t edited_bytes = 0;  ///< of the new texts of all edits
  std::uint64_t prefix_bytes = 0, chunk_bytes = 0;
  revision_spread prefix_share, chunk_share;  ///< of an edit's new text
};

/// Counts it for documents that are cut by this rule.
chunk_survival survival_of_chunks(const revision_history& history, const chunk_settings& cut);

}  // namespace refrain
