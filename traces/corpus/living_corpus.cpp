#include "traces/corpus/living_corpus.hpp"

#include <algorithm>
#include <cmath>

#include "traces/corpus/questions.hpp"
#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

/// Names a text and all before it in its document.
exact_fingerprint chained(const exact_fingerprint& before, const exact_fingerprint& text) {
  const std::uint64_t parts[] = {before.high, before.low, text.high, text.low};
  char bytes[sizeof parts];
  for (std::size_t i = 0; i < sizeof parts; ++i) {
    bytes[i] = static_cast<char>(parts[i / 8] >> (i % 8 * 8));
  }
  return fingerprint_of({bytes, sizeof bytes});
}

class living_source final : public source {
 public:
  living_source(std::unique_ptr<source> rows, std::unique_ptr<living_corpus> search)
      : rows_{std::move(rows)}, search_{std::move(search)} {}

  const trace_info& info() const override { return rows_->info(); }
  const row_counts& counts() const override { return rows_->counts(); }

  bool next(request& out) override {
    if (!rows_->next(out)) {
      return false;
    }
    search_->advance(out.arrival);
    search_->take_changes();
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
  std::unique_ptr<living_corpus> search_;
};

}  // namespace

sim_time update_stream::when(std::size_t event) const {
  std::int64_t begin = history->events[first == 0 ? 0 : first - 1].seconds;
  double seconds = static_cast<double>(history->events[event].seconds - begin) / speed;
  // What would come beyond what can be said never comes.
  return seconds < 9e9 ? sim_time{std::llround(seconds * 1e9)} : sim_time::max();
}

living_corpus::living_corpus(update_stream updates, std::shared_ptr<const corpus> questions,
                             const search_settings& search, survival rule)
    : updates_{std::move(updates)},
      next_{updates_.first},
      questions_{std::move(questions)},
      search_{search},
      rule_{rule},
      documents_(updates_.history->documents.size()) {
  corpus start = corpus_after(*updates_.history, updates_.first);
  index_ = std::make_unique<chunk_index>(
      search.chunks, search.index,
      make_embedder(start, search.chunks, search.width, search.embeddings));
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    names_.push_back(fingerprint_of(updates_.history->documents[i]).content());
    bool is_new = numbers_.emplace(names_.back(), static_cast<std::uint32_t>(i)).second;
    REFRAIN_ASSERT(is_new);  // 64 bits: odds of n^2 / 2^65
  }
  for (std::size_t i = 0; i < updates_.first; ++i) {
    play(i, nullptr);
  }
  for (std::size_t i = 0; i < questions_->questions.size(); ++i) {
    question_places_.emplace(content_of_question(questions_->questions[i]), i);
  }
}

std::optional<sim_time> living_corpus::next_update() const {
  return next_ < updates_.end ? std::optional{updates_.when(next_)} : std::nullopt;
}

void living_corpus::advance(sim_time now) {
  while (next_ < updates_.end && updates_.when(next_) <= now) {
    play(next_, &changes_.emplace_back());
    ++next_;
  }
}

// What came before time 0 is played too: a text of then has its name when it comes back.
void living_corpus::play(std::size_t event, corpus_change* change) {
  const revision& what = updates_.history->events[event];
  named_document& document = documents_[what.document];
  if (change != nullptr) {
    *change = {.event = event,
               .when = updates_.when(event),
               .op = what.op,
               .document = what.document,
               .bytes = what.text.size()};
  }
  std::vector<named_chunk> fresh;
  if (what.op == revision_op::remove) {
    index_->remove(what.document);
  } else {
    index_->put(what.document, 0, what.text);
    fresh = chunks_of(what.document, what.text);
  }
  name_chunks(document, fresh, change);
  auto stands = [&fresh](const named_chunk& old) {
    return std::ranges::any_of(fresh, [&old](const named_chunk& each) {
      return each.chunk == old.chunk && each.version == old.version;
    });
  };
  for (const named_chunk& old : document.now) {
    if (change != nullptr && !stands(old)) {
      change->outdated.push_back(segment_of(what.document, old));
    }
  }
  document.now = std::move(fresh);
}

std::vector<living_corpus::named_chunk> living_corpus::chunks_of(std::uint32_t document,
                                                                 std::string_view text) const {
  std::vector<named_chunk> chunks;
  exact_fingerprint so_far{};
  for (const stored_chunk& each : index_->chunks_of(document)) {
    so_far = chained(so_far, each.text);
    chunks.push_back({.identity = rule_ == survival::prefix ? so_far : each.text,
                      .text = each.text,
                      .bytes = each.where.bytes,
                      .tokens = count_tokens(questions_->words.get(), each.text.content(),
                                             each.where.in(text))});
  }
  return chunks;
}

// What survives keeps its number; the others take numbers that are free.
void living_corpus::name_chunks(named_document& document, std::vector<named_chunk>& fresh,
                                corpus_change* change) const {
  std::vector<char> is_named(fresh.size());
  std::vector<char> is_taken(document.past.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    auto survivor = std::ranges::find_if(document.now, [&](const named_chunk& old) {
      return old.identity == fresh[i].identity && !is_taken[old.chunk];
    });
    if (survivor != document.now.end()) {
      fresh[i].chunk = survivor->chunk;
      is_named[i] = is_taken[survivor->chunk] = true;
    }
    if (change != nullptr) {
      ++change->chunks;
      change->surviving_chunks += is_named[i] ? 1 : 0;
      change->surviving_bytes += is_named[i] ? fresh[i].bytes : 0;
    }
  }
  name_new_ones(document, fresh, is_named, is_taken);
  for (named_chunk& each : fresh) {
    auto version = static_cast<std::uint32_t>(document.known.size());
    known_identity& known =
        document.known.try_emplace(each.identity, known_identity{version, 0}).first->second;
    known.chunk = each.chunk;
    each.version = known.version;
    std::vector<named_chunk>& past = document.past[each.chunk];
    if (past.empty() || past.back().version != each.version) {
      past.push_back(each);
    }
  }
}

// A text that comes back takes the number that it had, if that is free; the others those that this
// edit has set free, in order, then those that were free before, then new ones.
void living_corpus::name_new_ones(named_document& document, std::vector<named_chunk>& fresh,
                                  std::vector<char>& is_named, std::vector<char>& is_taken) {
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    auto known = document.known.find(fresh[i].identity);
    if (!is_named[i] && known != document.known.end() && !is_taken[known->second.chunk]) {
      fresh[i].chunk = known->second.chunk;
      is_named[i] = is_taken[fresh[i].chunk] = true;
    }
  }
  std::vector<std::uint32_t> candidates;
  for (const named_chunk& old : document.now) {
    candidates.push_back(old.chunk);
  }
  for (std::uint32_t chunk = 0; chunk < document.past.size(); ++chunk) {
    candidates.push_back(chunk);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (is_named[i]) {
      continue;
    }
    while (at < candidates.size() && is_taken[candidates[at]]) {
      ++at;
    }
    if (at == candidates.size()) {
      candidates.push_back(static_cast<std::uint32_t>(document.past.size()));
      document.past.emplace_back();
      is_taken.push_back(false);
    }
    fresh[i].chunk = candidates[at];
    is_taken[fresh[i].chunk] = true;
  }
}

std::optional<std::string_view> living_corpus::question(content_id name) const {
  auto found = question_places_.find(name);
  return found == question_places_.end()
             ? std::nullopt
             : std::optional<std::string_view>{questions_->questions[found->second].text};
}

segment living_corpus::segment_of(std::uint32_t document, const named_chunk& chunk) const {
  return {.content = chunk.text.content(),
          .tokens = chunk.tokens,
          .kind = segment_kind::document,
          .version = chunk.version,
          .document = names_[document],
          .chunk = chunk.chunk};
}

std::vector<segment> living_corpus::documents_for(std::string_view question) const {
  std::vector<segment> pieces;
  for (const found_chunk& each : index_->search(question, search_.top, search_.least)) {
    const stored_chunk& stored = each.chunk;
    pieces.push_back(segment_of(stored.document, documents_[stored.document].now.at(stored.place)));
  }
  return pieces;
}

std::vector<older_chunk> living_corpus::older_than(const segment& chunk) const {
  auto number = numbers_.find(chunk.document);
  if (number == numbers_.end()) {
    return {};
  }
  std::vector<older_chunk> older;
  const named_document& document = documents_[number->second];
  const std::vector<named_chunk>& past = document.past.at(chunk.chunk);
  for (std::size_t i = past.size(); i-- > 0;) {
    bool told = past[i].version == chunk.version ||
                std::ranges::find(older, past[i].version, &older_chunk::version) != older.end();
    if (!told) {
      bool same = past[i].text.content() == chunk.content;
      older.push_back({past[i].version, past[i].tokens, same});
    }
  }
  return older;
}

std::unique_ptr<source> with_documents(std::unique_ptr<source> rows,
                                       std::unique_ptr<living_corpus> search) {
  return std::make_unique<living_source>(std::move(rows), std::move(search));
}

}  // namespace refrain
