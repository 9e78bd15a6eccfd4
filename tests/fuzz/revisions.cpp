// Any bytes as a stream of document revisions: refused by input_error only. What is accepted is
// described, is a corpus at every moment, and is played with every chunk named.
#include <string>

#include "memory_file.hpp"
#include "traces/corpus/living_corpus.hpp"

namespace {

using namespace refrain;

void play(const revision_history& history, survival rule) {
  update_stream updates{std::make_shared<revision_history>(history), 0, history.events.size(), 1};
  search_settings search{.chunks = {.rule = chunk_rule::heading, .span_tokens = token_count{4}},
                         .width = 8,
                         .top = 100,
                         .least = -2};
  living_corpus what{updates, std::make_shared<corpus>(), search, rule};
  while (auto when = what.next_update()) {
    what.advance(*when);
    for (const corpus_change& change : what.take_changes()) {
      REFRAIN_ASSERT(change.surviving_bytes <= change.bytes);
      REFRAIN_ASSERT(change.surviving_chunks <= change.chunks);
    }
    for (const segment& chunk : what.documents_for("a question")) {
      for (const older_chunk& older : what.older_than(chunk)) {
        REFRAIN_ASSERT(older.version != chunk.version);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const memory_file file;
  file.write(data, size);
  try {
    revision_history history = read_revisions(file.path());
    revision_figures figures = describe_revisions(history);
    REFRAIN_ASSERT(figures.added + figures.modified + figures.removed == history.events.size());
    REFRAIN_ASSERT(corpus_after(history, history.events.size()).documents.size() ==
                   figures.live_documents);
    constexpr std::size_t events_max = 200;  // a packed file may have a million
    if (history.events.size() <= events_max) {
      survival_of_chunks(history, {.span_tokens = token_count{4}});
      play(history, survival::prefix);
      play(history, survival::chunk);
    }
  } catch (const input_error&) {
    // what a person would be told
  }
  return 0;
}
