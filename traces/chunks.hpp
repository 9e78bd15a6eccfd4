// What a cache without limit would find of prompts given by content, in whole chunks: a chunk is
// one segment, found anywhere when an earlier prompt or answer held it, and in the exact prefix
// when an earlier prompt began with all chunks up to it. The difference is what reuse outside the
// prefix can gain. Each kind of segment is counted inside the prompts and as a sequence of its own.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "traces/request.hpp"

namespace refrain {

/// Chunks of some sequences; a request's own chunks are found only by later requests.
struct chunk_counts {
  std::uint64_t accesses = 0;
  std::uint64_t unique = 0;       ///< contents first met here
  std::uint64_t hits = 0;         ///< anywhere
  std::uint64_t prefix_hits = 0;  ///< and so is every chunk before them, in the same order
  std::int64_t tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t prefix_hit_tokens = 0;
};

/// Counts by segment_kind.
using chunk_counts_by_kind = std::array<chunk_counts, segment_kinds>;

/// The chunks of a trace.
struct chunk_description {
  chunk_counts all;                ///< whole prompts
  chunk_counts_by_kind in_prompt;  ///< the same, the part of each kind
  chunk_counts_by_kind alone;      ///< each kind as if prompts held nothing else
};

/// Where a chunk was before.
struct chunk_finding {
  bool anywhere = false;
  bool in_prefix = false;
};

/// Sequences of chunks, as an endless cache remembers them.
class chunk_sequences {
 public:
  /// Begins the next request under an isolation domain.
  void begin(std::uint64_t salt);
  /// Counts the next chunk of the request in all of `sums`, and says where it was before.
  chunk_finding add(const segment& chunk, std::initializer_list<chunk_counts*> sums);
  /// Ends the request; its answer, where it is not 0, is found by later requests.
  void end(content_id answer);

 private:
  absl::flat_hash_set<std::uint64_t> seen_, prefixes_;
  std::vector<std::uint64_t> own_;  // contents of the request
  std::uint64_t salt_ = 0, prefix_ = 0;
  bool unbroken_ = true;
};

/// Counts the chunks of one request after the other.
class chunk_counter {
 public:
  void add(const request& row, chunk_description& into);

 private:
  chunk_sequences prompts_;
  std::array<chunk_sequences, segment_kinds> kinds_;
};

}  // namespace refrain
