#include "traces/corpus/corpus_search.hpp"

#include <algorithm>

#include "traces/corpus/questions.hpp"

namespace refrain {

namespace {

class searched_source final : public source {
 public:
  searched_source(std::unique_ptr<source> rows, std::shared_ptr<const corpus_search> search)
      : rows_{std::move(rows)}, search_{std::move(search)} {}

  const trace_info& info() const override { return rows_->info(); }
  const row_counts& counts() const override { return rows_->counts(); }

  bool next(request& out) override {
    if (!rows_->next(out)) {
      return false;
    }
    std::size_t place = place_of_question(out.segments);
    if (place < out.segments.size()) {
      if (auto text = search_->question(out.segments[place].content)) {
        out.input_tokens += insert_documents(out.segments, place, search_->documents_for(*text));
      }
    }
    return true;
  }

 private:
  std::unique_ptr<source> rows_;
  std::shared_ptr<const corpus_search> search_;
};

}  // namespace

corpus_search::corpus_search(std::shared_ptr<const corpus> what, const search_settings& settings)
    : what_{std::move(what)}, settings_{settings} {
  auto texts = make_embedder(*what_, settings.chunks, settings.width, settings.embeddings);
  index_ = make_chunk_index(*what_, settings.chunks, settings.index, texts);
  for (const corpus_document& each : what_->documents) {
    auto document = static_cast<std::uint32_t>(documents_.size());
    documents_.push_back(fingerprint_of(each.id).content());
    for (const stored_chunk& chunk : index_->chunks_of(document)) {
      content_id content = chunk.text.content();
      tokens_[content] = count_tokens(what_->words.get(), content, chunk.where.in(each.text));
    }
  }
  for (std::size_t i = 0; i < what_->questions.size(); ++i) {
    questions_.emplace(content_of_question(what_->questions[i]), i);
  }
}

std::optional<std::string_view> corpus_search::question(content_id name) const {
  auto found = questions_.find(name);
  return found == questions_.end()
             ? std::nullopt
             : std::optional<std::string_view>{what_->questions[found->second].text};
}

std::vector<segment> corpus_search::documents_for(std::string_view question) const {
  std::vector<segment> pieces;
  for (const found_chunk& each : index_->search(question, settings_.top, settings_.least)) {
    const stored_chunk& chunk = each.chunk;
    pieces.push_back({.content = chunk.text.content(),
                      .tokens = tokens_.at(chunk.text.content()),
                      .kind = segment_kind::document,
                      .version = chunk.version,
                      .document = documents_[chunk.document],
                      .chunk = chunk.place});
  }
  return pieces;
}

std::size_t place_of_question(const std::vector<segment>& prompt) {
  auto found = std::find_if(prompt.rbegin(), prompt.rend(), [](const segment& piece) {
    return piece.kind == segment_kind::question;
  });
  return found == prompt.rend() ? prompt.size()
                                : static_cast<std::size_t>(prompt.rend() - found) - 1;
}

token_count insert_documents(std::vector<segment>& prompt, std::size_t place,
                             const std::vector<segment>& documents) {
  token_count added;
  for (const segment& piece : documents) {
    added += piece.tokens;
  }
  prompt.insert(prompt.begin() + static_cast<std::ptrdiff_t>(place), documents.begin(),
                documents.end());
  return added;
}

std::unique_ptr<source> with_documents(std::unique_ptr<source> rows,
                                       std::shared_ptr<const corpus_search> search) {
  return std::make_unique<searched_source>(std::move(rows), std::move(search));
}

}  // namespace refrain
