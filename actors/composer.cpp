#include "actors/composer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "actors/token_ids.hpp"
#include "policies/eviction.hpp"
#include "policies/registry.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

/// Marks know where their segments end in the prompt.
void place(const request& row, std::vector<seen_mark>& seen) {
  token_count at;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    at = std::min(at + row.segments[i].tokens, row.input_tokens);
    seen[i].end = at;
  }
}

bool asks_for_notes(const policy_choice& eviction) {
  eviction_needs needs =
      registry<eviction_entry>::find(eviction.name, "policies.eviction").needs(eviction.values);
  return needs.categories || needs.hints || needs.steps;
}

}  // namespace

composer::composer(const contender_plan& plan, std::shared_ptr<const text_table> texts,
                   std::shared_ptr<const token_book> words)
    : plan_{plan},
      texts_{std::move(texts)},
      words_{std::move(words)},
      needs_{needs_of_reuse(plan.reuse.name, plan.reuse.values)},
      takes_notes_{asks_for_notes(plan.eviction)},
      policy_{
          registry<reuse_entry>::find(plan.reuse.name, "policies.reuse").make(plan.reuse.values)} {}

prompt composer::compose(request& row, std::vector<seen_mark> seen, sim_time now) {
  prompt what{row.id, row.session, row.input_tokens, row.output_tokens, {}, false, row.last_turn};
  compose(row, std::move(seen), now, what);
  return what;
}

void composer::compose(request& row, std::vector<seen_mark> seen, sim_time now, prompt& into,
                       const living_corpus* knowledge) {
  if (takes_notes_) {
    into.notes = std::make_shared<const request_notes>(
        request_notes{category_of(row), row.hint, row.agent, row.upcoming});
  }
  if (seen.size() != row.segments.size()) {
    seen.clear();  // documents have come since
  }
  if (needs_.orders) {
    order_documents(row, seen);
  }
  place(row, seen);
  into.seen = std::move(seen);
  if (needs_.chunk_kinds == 0 || !row.blocks.empty()) {
    cut_evenly(row, into);
    name_tokens(row, into);
    return;
  }
  auto layout = std::make_shared<prompt_layout>();
  chunk_keys(row, plan_.keys, into.keys, *layout);
  if (needs_.versions) {
    check_versions(row, now, *layout);
  }
  if (needs_.neighbours) {
    find_neighbours(row, *layout);
  }
  if (knowledge != nullptr && plan_.knowledge.protocol == knowledge_protocol::loose) {
    add_older(row, *knowledge, *layout);
  }
  into.layout = std::move(layout);
  name_tokens(row, into);
}

// Where they are computed, by the executors or beside the simulation.
void composer::name_tokens(const request& row, prompt& into) const {
  const llama_weights* weights =
      plan_.sample.holds(row.session) ? plan_.sample.weights.get() : plan_.execution.weights.get();
  if (weights != nullptr) {
    into.tokens = tokens_of(row, plan_.keys, into.keys, weights->shape.vocabulary, words_.get());
  }
}

// Documents of this turn that stand side by side; those of earlier turns stand as they were sent.
void composer::order_documents(request& row, std::vector<seen_mark>& seen) {
  auto is_free = [](const segment& piece) {
    return piece.kind == segment_kind::document && !piece.past;
  };
  std::vector<segment> before_order = row.segments;
  restore_history(row);
  std::uint64_t before = row.salt;
  for (auto at = row.segments.begin(); at != row.segments.end();) {
    auto end = std::find_if_not(at, row.segments.end(), is_free);
    if (end != at) {
      policy_->order({at, end}, before);
    } else {
      ++end;
    }
    for (; at != end; ++at) {
      before = mix64(before, at->content);
    }
  }
  if (row.last_turn) {
    sent_.erase(row.session);
  } else {
    sent_[row.session] = row.segments;
  }
  if (!seen.empty()) {
    std::vector<seen_mark> moved;
    for (const segment& piece : row.segments) {
      auto from = std::ranges::find(before_order, piece.content, &segment::content);
      moved.push_back(seen[static_cast<std::size_t>(from - before_order.begin())]);
    }
    seen = std::move(moved);
  }
}

// As far as the history is what was sent: the same pieces of documents in another order.
void composer::restore_history(request& row) {
  auto found = sent_.find(row.session);
  if (found == sent_.end()) {
    return;
  }
  const std::vector<segment>& sent = found->second;
  auto same = [](const segment& a, const segment& b) {
    return a.content == b.content && a.tokens == b.tokens;
  };
  std::size_t most = std::min(sent.size(), row.segments.size());
  for (std::size_t at = 0; at < most;) {
    std::size_t end = at;
    while (end < most && row.segments[end].past &&
           row.segments[end].kind == segment_kind::document) {
      ++end;
    }
    auto mine = row.segments.begin() + static_cast<std::ptrdiff_t>(at);
    auto theirs = sent.begin() + static_cast<std::ptrdiff_t>(at);
    auto count = static_cast<std::ptrdiff_t>(end - at);
    if (count > 1 && std::is_permutation(mine, mine + count, theirs, theirs + count, same)) {
      std::copy(theirs, theirs + count, mine);
      std::for_each(mine, mine + count, [](segment& piece) { piece.past = true; });
    }
    at = std::max(end, at + 1);
  }
}

void composer::add_donor(const segment& other, token_count tokens, std::uint64_t salt,
                         chunk_donor donor, chunk_place& place, prompt_layout& layout) const {
  donor.first_key = static_cast<std::uint32_t>(layout.donor_keys.size());
  append_chunk_keys(chunk_root(salt, other), tokens, plan_.keys.block_tokens, layout.donor_keys);
  donor.end_key = static_cast<std::uint32_t>(layout.donor_keys.size());
  place.donors.push_back(donor);
  layout.names_donors = layout.names_donors || donor.named;
}

// A chunk whose document the cache takes to be as it was is looked up as it was: then it is stale,
// and its blocks are taken to be as long.
void composer::check_versions(const request& row, sim_time now, prompt_layout& layout) {
  for (chunk_place& place : layout.chunks) {
    segment piece = row.segments[place.segment];
    if (piece.document == content_id{}) {
      continue;
    }
    auto version = policy_->version_of({piece.document, piece.version, now, piece.chunk});
    place.looked_up = version.has_value();
    if (version && *version != piece.version) {
      piece.version = *version;
      add_donor(piece, place.end - place.begin, row.salt,
                {.named = true, .stale = true, .goes_first = true}, place, layout);
    }
  }
}

// A cache that knows chunks by name takes what is there under it, of whatever version, where the
// present one is not.
void composer::add_older(const request& row, const living_corpus& knowledge,
                         prompt_layout& layout) const {
  for (chunk_place& place : layout.chunks) {
    segment piece = row.segments[place.segment];
    for (const older_chunk& older : knowledge.older_than(row.segments[place.segment])) {
      if (place.donors.size() == donors_max) {
        break;
      }
      piece.version = older.version;
      add_donor(piece, older.tokens, row.salt, {.named = true, .stale = !older.same_text}, place,
                layout);
    }
  }
}

// Texts of the same isolation domain that were there before, the most similar ones first.
void composer::find_neighbours(const request& row, prompt_layout& layout) {
  struct likely {
    text_likeness likeness;
    const known_text* text;
  };
  for (chunk_place& place : layout.chunks) {
    const segment& piece = row.segments[place.segment];
    known_texts& known = known_[row.salt];
    std::vector<likely> alike;
    auto consider = [&](const known_text& other) {
      text_likeness likeness = likeness_of(piece.content, other.piece.content);
      if (other.piece.content != piece.content && policy_->accepts(likeness)) {
        alike.push_back({likeness, &other});
      }
    };
    if (auto few = texts_->candidates(piece.content)) {
      for (content_id content : *few) {
        if (auto at = known.place_of.find(content); at != known.place_of.end()) {
          consider(known.texts[at->second]);
        }
      }
    } else {
      std::ranges::for_each(known.texts, consider);
    }
    std::ranges::stable_sort(alike, [](const likely& a, const likely& b) {
      return !std::isnan(a.likeness.cosine) && !(b.likeness.cosine >= a.likeness.cosine);
    });
    for (std::size_t i = 0; i < std::min(alike.size(), donors_max); ++i) {
      const segment& other = alike[i].text->piece;
      add_donor(other, alike[i].text->tokens, row.salt, {}, place, layout);
      place.donors.back().truth = texts_->judge(piece.content, other.content);
    }
  }
  for (const chunk_place& place : layout.chunks) {
    known_texts& known = known_[row.salt];
    const segment& piece = row.segments[place.segment];
    if (known.place_of.emplace(piece.content, known.texts.size()).second) {
      known.texts.push_back({piece, place.end - place.begin});
    }
  }
}

// The edit distance takes long, so it is left out where it is not asked for, and where the policy
// accepts the texts without.
text_likeness composer::likeness_of(content_id a, content_id b) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::span<const std::uint32_t> tokens = texts_->tokens(a);
  std::span<const std::uint32_t> others = texts_->tokens(b);
  text_likeness likeness{.cosine = cosine_of(texts_->embedding(a), texts_->embedding(b)),
                         .levenshtein = unknown,
                         .same_tokens = !tokens.empty() && std::ranges::equal(tokens, others)};
  if (needs_.edit_distances && !policy_->accepts(likeness)) {
    likeness.levenshtein = levenshtein_ratio(tokens, others);
  }
  return likeness;
}

void composer::cut_evenly(const request& row, prompt& into) const {
  block_keys(row, plan_.keys, into.keys);
  auto keyed = static_cast<std::int64_t>(into.keys.size()) * plan_.keys.block_tokens;
  into.short_last_block = row.answer == content_id{} && keyed > row.input_tokens;
}

}  // namespace refrain
