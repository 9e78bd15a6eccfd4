// A corpus that can be searched: documents cut into chunks, each chunk's embedding in an index. A
// document may be replaced or taken away at any time; chunks whose text stays keep their place in
// the index. What a search gives are chunks, best first, or documents by their best chunk.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/corpus/chunker.hpp"
#include "traces/corpus/corpus.hpp"
#include "traces/corpus/embedding.hpp"
#include "traces/corpus/fingerprint.hpp"
#include "traces/corpus/vector_index.hpp"

namespace refrain {

/// A chunk as it stands in its document.
struct stored_chunk {
  std::uint32_t document = 0;
  std::uint32_t version = 0;  ///< of the document
  std::uint32_t place = 0;    ///< among the document's chunks, from 0
  text_chunk where{};         ///< in the document's text
  exact_fingerprint text{};

  token_count tokens() const { return where.tokens(); }
};

/// A chunk that a search gives.
struct found_chunk {
  stored_chunk chunk;
  float score = 0;  ///< cosine
};

/// A document that a search gives.
struct found_document {
  std::uint32_t document = 0;
  float score = 0;  ///< of its best chunk
};

/// What replacing a document changed, in bytes of chunks.
struct chunk_change {
  std::uint64_t chunks = 0;       ///< of the new version
  std::uint64_t bytes = 0;        ///< of the new version
  std::uint64_t kept_chunks = 0;  ///< of these, there before, wherever they stood
  std::uint64_t kept_bytes = 0;
  std::uint64_t prefix_chunks = 0;  ///< of these, leading chunks that stand where they stood
  std::uint64_t prefix_bytes = 0;
  std::uint64_t removed_chunks = 0;  ///< of the old version, gone
};

/// The searchable corpus. Searching changes nothing, so several threads may do it at once.
class chunk_index {
 public:
  /// Empty; texts become vectors by `texts`.
  chunk_index(const chunk_settings& chunks, const index_settings& index,
              std::shared_ptr<const embedder> texts);

  /// Puts a document's text in place of what was there.
  chunk_change put(std::uint32_t document, std::uint32_t version, std::string_view text);
  /// Takes a document away; true if it was there.
  bool remove(std::uint32_t document);

  /// At most `count` chunks with a cosine above `least`, best first. A question without terms finds
  /// nothing.
  std::vector<found_chunk> search(std::string_view question, std::size_t count, float least) const;
  /// The same for a question's embedding.
  std::vector<found_chunk> search(std::span<const float> question, std::size_t count,
                                  float least) const;
  /// At most `count` documents, each by its best chunk.
  std::vector<found_document> search_documents(std::span<const float> question, std::size_t count,
                                               float least) const;
  /// Chunks by cosine, as the index itself gives them; ids are those of `at`.
  std::vector<neighbour> nearest_chunks(std::span<const float> question, std::size_t count,
                                        float least) const;

  const stored_chunk& at(std::uint32_t id) const { return chunks_.at(id); }
  /// The chunks of a document's present version in order; empty where there is none.
  std::vector<stored_chunk> chunks_of(std::uint32_t document) const;
  /// Chunks of all documents.
  std::size_t size() const { return index_->size(); }
  const embedder& texts() const { return *texts_; }

 private:
  chunk_settings cut_;
  std::shared_ptr<const embedder> texts_;
  std::unique_ptr<vector_index> index_;
  std::vector<stored_chunk> chunks_;  // by id; ids of removed chunks are not used again
  absl::flat_hash_map<std::uint32_t, std::vector<std::uint32_t>> documents_;  // ids in order
};

/// An embedder for a corpus: its chunks teach the hashed one how rare terms are. With a path,
/// embeddings come from that file; throws input_error where a chunk or a question has none.
std::shared_ptr<const embedder> make_embedder(const corpus& what, const chunk_settings& chunks,
                                              std::size_t width, const std::string& path);

/// The corpus, searchable; every document in version 0.
std::unique_ptr<chunk_index> make_chunk_index(const corpus& what, const chunk_settings& chunks,
                                              const index_settings& index,
                                              std::shared_ptr<const embedder> texts);

}  // namespace refrain
