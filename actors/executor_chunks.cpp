// What the executor loads for a prompt whose chunks are reused wherever they stand: all blocks of
// its leading run and of the chunks that the policy takes, from the nearest tier that holds them,
// or none where computing is expected to be faster. The request waits outside of the batch until
// all have come.
#include <algorithm>
#include <caf/all.hpp>

#include "actors/executor.hpp"

namespace refrain {

namespace {

/// Calls use(place, place in the query, whether it is here) for each block that the match takes.
template <class Use>
void for_each_block(const kv_manager& kv, const sequence& s, const kv_match& found, Use&& use) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(found.blocks); ++i) {
    use(i, i, kv.is_visible(s, i));
  }
  for (const reused_span& span : found.spans) {
    for (std::size_t i = span.first_block; i < span.end_block; ++i) {
      use(i, s.place_in_query(span, i), kv.is_visible(s, span, i));
    }
  }
}

}  // namespace

// How long the prompt would take by itself with what is found.
sim_time executor::compute_time(const kv_match& found, token_count total) {
  batch alone;
  alone.prefill.push_back(chunk_of(found.spans, found.tokens, total));
  return expected_.iteration(alone);
}

void executor::decide_chunks(live_request& r) {
  const std::vector<offer_blocks>& offers = questions_.at(r.kv.id).offers;
  std::vector<std::uint8_t> below(offers.front().held.size());
  for (std::size_t i = 0; i < below.size(); ++i) {
    for (std::size_t tier = 0; tier < offers.size() && below[i] == 0; ++tier) {
      below[i] = offers[tier].held[i] ? mark_of(context_.plan.tiers[tier].kind) : 0;
    }
  }
  kv_match here = kv_.match(r.kv, r.total());
  kv_match all = kv_.match_chunks(r.kv, r.total(), below);
  load_choice choice{here, std::vector<std::uint8_t>(r.kv.keys.size()), {}};
  choice.wanted.resize(offers.size());
  std::vector<std::vector<std::uint32_t>> places(offers.size());
  bool always = false;
  bool any = false;
  for_each_block(kv_, r.kv, all, [&](std::size_t place, std::size_t asked, bool is_here) {
    for (std::size_t tier = 0; tier < offers.size() && !is_here; ++tier) {
      if (offers[tier].held[asked]) {
        choice.wanted[tier].push_back(static_cast<std::uint32_t>(asked));
        places[tier].push_back(static_cast<std::uint32_t>(place));
        choice.tier_of[place] = below[asked];
        always = always || context_.plan.tiers[tier].loading == tier_load::always;
        any = true;
        break;
      }
    }
  });
  for (std::vector<std::uint32_t>& wanted : choice.wanted) {
    std::ranges::sort(wanted);  // those of donors come last
  }
  bool loads = any && (always || r.load.wants_room ||
                       load_time(choice, offers, 0) + compute_time(all, r.total()) <
                           compute_time(here, r.total()));
  token_count leading = all.tokens;
  all.to_come = all.blocks - here.blocks;
  all.blocks = here.blocks;
  all.tokens = here.tokens;
  r.load.wants_room = loads && !kv_.admit(r.kv, all, leading, context_.time.now());
  if (r.load.wants_room) {
    loads = false;
    r.load.asked_blocks = -1;  // it asks again when it is next
  }
  if (loads) {
    all.tokens = leading;
    begin_chunk_load(r, all, places);
    r.load.tier_of = std::move(choice.tier_of);
    r.load.declined.clear();
  } else {
    r.load.declined = std::move(choice.tier_of);
    choice.wanted.assign(offers.size(), {});
  }
  send_loads(r, choice.wanted);
}

// Under the strict protocol what was retrieved before the update and is being computed or loaded
// now serves those who wait for it and is not kept. Who waits may find less from now on, so a
// window ends with the iteration that is under way.
void executor::invalidate(const invalidate_blocks& outdated) {
  bool strict = context_.plan.knowledge.protocol == knowledge_protocol::strict;
  std::int64_t count = kv_.invalidate(*outdated.keys, strict);
  invalidated_ += count;
  publish();
  if (count > 0 && planned_ > 0) {
    shorten_window();
  }
}

void executor::begin_chunk_load(live_request& r, const kv_match& all,
                                const std::vector<std::vector<std::uint32_t>>& places) {
  kv_load& load = r.load;
  ++load.attempt;
  load.under_way = load.open = true;
  load.usable = sim_time::max();
  load.end = sim_time{0};
  load.transfers.clear();
  load.unheard = 0;
  load.from = token_count{0};
  load.to = all.tokens;
  for (const std::vector<std::uint32_t>& blocks : places) {
    load.unheard += blocks.empty() ? 0 : 1;
    load.transfers.push_back({blocks, {}});
    kv_.expect(r.kv, blocks);
  }
  if (planned_ > 0) {
    shorten_window();
  }
}

}  // namespace refrain
