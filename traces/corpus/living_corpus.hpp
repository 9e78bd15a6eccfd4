// A corpus that changes while it is asked: the documents of a revision stream up to some revision,
// and the later ones played in virtual time. It names every chunk by (document, chunk, version), so
// that KV computed of it is found again exactly as long as the text stands: a chunk that survives
// an edit keeps its name wherever it moves, one that takes the place of another gets a new version
// of that one's number, and a text that comes back has the name that it had. What survives is a
// rule:
//
//   prefix  the leading chunks that are as they were; all behind the first change are new
//   chunk   every chunk whose text the document had before, wherever it stood
//
// Plain object: no messages, and time comes from outside.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "traces/corpus/corpus_search.hpp"
#include "traces/corpus/revisions.hpp"

namespace refrain {

/// What of a document survives an edit.
enum class survival : std::uint8_t { prefix, chunk };

/// The rules' names, in order of the enumeration.
inline constexpr std::string_view survival_names[] = {"prefix", "chunk"};

/// Which revisions are played, and when.
struct update_stream {
  std::shared_ptr<const revision_history> history;
  std::size_t first = 0;  ///< revisions before this one are the corpus at time 0
  std::size_t end = 0;    ///< behind the last that is played; first <= end
  double speed = 1;       ///< seconds of the stream for a second of the run; above 0

  /// When a revision comes: seconds since the last one before `first` (since the first, where there
  /// is none), divided by the speed.
  sim_time when(std::size_t event) const;
};

/// A chunk as it once was.
struct older_chunk {
  std::uint32_t version = 0;
  token_count tokens;
  bool same_text = false;  ///< as the present one, behind other text
};

/// What one revision did, in bytes of chunks.
struct corpus_change {
  std::size_t event = 0;
  sim_time when{0};
  revision_op op = revision_op::add;
  std::uint32_t document = 0;
  std::uint64_t bytes = 0;  ///< of the new text
  std::uint64_t surviving_bytes = 0;
  std::uint64_t chunks = 0;  ///< of the new text
  std::uint64_t surviving_chunks = 0;
  std::vector<segment> outdated{};  ///< chunks that are no more, as prompts named them
};

/// The corpus, its index, and the names of its chunks.
class living_corpus {
 public:
  /// Builds the index of the documents at time 0. `questions` are those that will be asked.
  living_corpus(update_stream updates, std::shared_ptr<const corpus> questions,
                const search_settings& search, survival rule);

  /// When the next revision comes; nothing after the last.
  std::optional<sim_time> next_update() const;
  /// Plays the revisions that come at `now` or before.
  void advance(sim_time now);
  /// What was played since this was last called.
  std::vector<corpus_change> take_changes() { return std::exchange(changes_, {}); }

  /// As corpus_search, of the documents as they are now.
  std::optional<std::string_view> question(content_id name) const;
  std::vector<segment> documents_for(std::string_view question) const;
  /// What stood under this chunk's name before, newest first, the chunk itself left out.
  std::vector<older_chunk> older_than(const segment& chunk) const;

 private:
  struct named_chunk {
    std::uint32_t chunk = 0;
    std::uint32_t version = 0;
    exact_fingerprint identity{};  // equal: the same KV, by the rule
    exact_fingerprint text{};
    std::uint64_t bytes = 0;
    token_count tokens{};
  };
  struct known_identity {
    std::uint32_t version = 0;
    std::uint32_t chunk = 0;  // under which it stood last
  };
  struct named_document {
    std::vector<named_chunk> now;  // by place
    absl::flat_hash_map<exact_fingerprint, known_identity> known;
    std::vector<std::vector<named_chunk>> past;  // by chunk number: what stood there, oldest first
  };

  void play(std::size_t event, corpus_change* change);
  std::vector<named_chunk> chunks_of(std::uint32_t document, std::string_view text) const;
  void name_chunks(named_document& document, std::vector<named_chunk>& fresh,
                   corpus_change* change) const;
  static void name_new_ones(named_document& document, std::vector<named_chunk>& fresh,
                            std::vector<char>& is_named, std::vector<char>& is_taken);
  segment segment_of(std::uint32_t document, const named_chunk& chunk) const;

  update_stream updates_;
  std::size_t next_ = 0;
  std::shared_ptr<const corpus> questions_;
  search_settings search_;
  survival rule_;
  std::unique_ptr<chunk_index> index_;
  std::vector<content_id> names_;  // of documents, in prompts
  std::vector<named_document> documents_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> numbers_;  // of documents, by name
  absl::flat_hash_map<content_id, std::size_t, std::hash<content_id>> question_places_;
  std::vector<corpus_change> changes_;
};

/// The requests with what is found for them at their arrival in their prompts, of a corpus that
/// changes meanwhile: what a first pass counts. They must be in order of arrival.
std::unique_ptr<source> with_documents(std::unique_ptr<source> rows,
                                       std::unique_ptr<living_corpus> search);

}  // namespace refrain
