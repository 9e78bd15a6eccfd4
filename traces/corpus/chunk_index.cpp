#include "traces/corpus/chunk_index.hpp"

#include <algorithm>

#include "traces/corpus/embedding_file.hpp"
#include "traces/error.hpp"

namespace refrain {

chunk_index::chunk_index(const chunk_settings& chunks, const index_settings& index,
                         std::shared_ptr<const embedder> texts)
    : cut_{chunks}, texts_{std::move(texts)}, index_{make_index(index, texts_->width())} {}

chunk_change chunk_index::put(std::uint32_t document, std::uint32_t version,
                              std::string_view text) {
  std::vector<std::uint32_t> before = std::move(documents_[document]);
  std::vector<std::uint32_t> now;
  chunk_change change;
  // Ids of the old version by text, the first in its order last, so that they are taken from
  // behind.
  absl::flat_hash_map<exact_fingerprint, std::vector<std::uint32_t>> known;
  for (std::size_t i = before.size(); i-- > 0;) {
    known[chunks_[before[i]].text].push_back(before[i]);
  }
  bool unbroken = true;
  std::vector<float> vector(texts_->width());
  for (const text_chunk& piece : cut_text(text, cut_)) {
    std::string_view words = piece.in(text);
    auto place = static_cast<std::uint32_t>(now.size());
    stored_chunk chunk{document, version, place, piece, fingerprint_of(words)};
    unbroken = unbroken && place < before.size() && chunks_[before[place]].text == chunk.text;
    ++change.chunks;
    change.bytes += piece.bytes;
    change.prefix_chunks += unbroken;
    change.prefix_bytes += unbroken ? piece.bytes : 0;
    auto found = known.find(chunk.text);
    if (found != known.end() && !found->second.empty()) {
      now.push_back(found->second.back());
      found->second.pop_back();
      chunks_[now.back()] = chunk;
      ++change.kept_chunks;
      change.kept_bytes += piece.bytes;
      continue;
    }
    now.push_back(static_cast<std::uint32_t>(chunks_.size()));
    chunks_.push_back(chunk);
    texts_->embed(words, vector);
    index_->add(now.back(), vector);
  }
  for (std::uint32_t id : before) {
    if (std::ranges::find(now, id) == now.end()) {
      index_->remove(id);
      ++change.removed_chunks;
    }
  }
  documents_[document] = std::move(now);
  return change;
}

bool chunk_index::remove(std::uint32_t document) {
  auto found = documents_.find(document);
  if (found == documents_.end()) {
    return false;
  }
  for (std::uint32_t id : found->second) {
    index_->remove(id);
  }
  documents_.erase(found);
  return true;
}

std::vector<neighbour> chunk_index::nearest_chunks(std::span<const float> question,
                                                   std::size_t count, float least) const {
  bool is_zero = std::ranges::all_of(question, [](float value) { return value == 0; });
  return is_zero ? std::vector<neighbour>{} : index_->search(question, count, least);
}

std::vector<found_chunk> chunk_index::search(std::span<const float> question, std::size_t count,
                                             float least) const {
  std::vector<found_chunk> found;
  for (const neighbour& each : nearest_chunks(question, count, least)) {
    found.push_back({chunks_[each.id], each.score});
  }
  return found;
}

std::vector<found_chunk> chunk_index::search(std::string_view question, std::size_t count,
                                             float least) const {
  return search(texts_->of(question), count, least);
}

std::vector<found_document> chunk_index::search_documents(std::span<const float> question,
                                                          std::size_t count, float least) const {
  std::vector<found_document> found;
  for (std::size_t asked = 2 * count;; asked *= 2) {
    std::vector<neighbour> chunks = nearest_chunks(question, asked, least);
    found.clear();
    for (const neighbour& each : chunks) {
      std::uint32_t document = chunks_[each.id].document;
      if (std::ranges::find(found, document, &found_document::document) == found.end()) {
        found.push_back({document, each.score});
      }
    }
    if (found.size() >= count || asked >= size() || chunks.size() < asked) {
      found.resize(std::min(found.size(), count));
      return found;
    }
  }
}

std::vector<stored_chunk> chunk_index::chunks_of(std::uint32_t document) const {
  std::vector<stored_chunk> chunks;
  auto found = documents_.find(document);
  if (found != documents_.end()) {
    for (std::uint32_t id : found->second) {
      chunks.push_back(chunks_[id]);
    }
  }
  return chunks;
}

std::shared_ptr<const embedder> make_embedder(const corpus& what, const chunk_settings& chunks,
                                              std::size_t width, const std::string& path) {
  auto for_each_chunk = [&](auto&& visit) {
    for (const corpus_document& document : what.documents) {
      for (const text_chunk& piece : cut_text(document.text, chunks)) {
        visit(piece.in(document.text));
      }
    }
  };
  if (path.empty()) {
    auto hashed = std::make_shared<hashed_embedder>(width);
    for_each_chunk([&](std::string_view text) { hashed->learn(text); });
    return hashed;
  }
  auto given = std::make_shared<embedding_file>(path);
  for_each_chunk([&](std::string_view text) { given->of(text); });
  for (const corpus_question& question : what.questions) {
    given->of(question.text);
  }
  return given;
}

std::unique_ptr<chunk_index> make_chunk_index(const corpus& what, const chunk_settings& chunks,
                                              const index_settings& index,
                                              std::shared_ptr<const embedder> texts) {
  auto made = std::make_unique<chunk_index>(chunks, index, std::move(texts));
  for (std::size_t i = 0; i < what.documents.size(); ++i) {
    made->put(static_cast<std::uint32_t>(i), 0, what.documents[i].text);
  }
  return made;
}

}  // namespace refrain
