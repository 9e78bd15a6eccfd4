// The executor's dealings with the tiers below it: what it asks for a waiting request, whether it
// loads or computes, and what it tells them to keep.
#include <algorithm>
#include <caf/all.hpp>

#include "actors/executor.hpp"

namespace refrain {

// Asked once, and again when less is found in GPU memory than then.
bool executor::is_new_to_tiers(const live_request& r) const {
  if (tiers_.empty() || !r.kv.blocks.empty() || r.kv.keys.empty() || !reuse_->shares()) {
    return false;
  }
  if (r.kv.planned) {
    return false;  // its hits are fixed, and nothing else is taken
  }
  kv_match found = kv_.match(r.kv, r.total());
  std::int64_t blocks = found.all_blocks();
  bool all_found = blocks >= static_cast<std::int64_t>(r.kv.keys.size());
  return !all_found && (r.load.asked_blocks < 0 || blocks < r.load.asked_blocks) &&
         !kv_.is_coming(r.kv, found);
}

// Whether the next request stays outside of the batch for its load, or for another one's that
// brings the block it needs next.
bool executor::must_wait(live_request& r) {
  if (r.kv.blocks.empty()) {
    bool loads_happen = !tiers_.empty() || r.handed_from;
    r.load.behind_other = loads_happen && kv_.is_coming(r.kv, kv_.match(r.kv, r.total()));
    return r.load.behind_other;
  }
  bool computes_beside = r.load.from > kv_.held(r.kv, r.total()).tokens;
  if (!r.load.under_way || computes_beside || r.load.usable <= context_.time.now()) {
    return false;
  }
  if (context_.plan.waiting != load_wait::best_effort || r.handed_from) {
    return true;
  }
  cut_load(r);
  return false;
}

void executor::ask_tiers(live_request& r) {
  r.load.asked_in = formed_;
  r.load.asked_blocks = kv_.match(r.kv, r.total()).all_blocks();
  questions_[r.kv.id] = {std::vector<offer_blocks>(tiers_.size(), offer_blocks{}), tiers_.size()};
  std::vector<block_key> keys = r.kv.keys;
  if (r.kv.layout && r.kv.layout->names_donors) {
    const std::vector<block_key>& donors = r.kv.layout->donor_keys;
    keys.insert(keys.end(), donors.begin(), donors.end());
  }
  for (const caf::actor& each : tiers_) {
    send(each, query_blocks{r.kv.id, index_, keys});
  }
}

void executor::receive(offer_blocks& offer) {
  request_id id = offer.id;
  open_question& question = questions_.at(id);
  std::uint32_t from = offer.tier;
  question.offers[from] = std::move(offer);
  if (--question.missing > 0) {
    return;
  }
  live_request* r = batcher_.find_waiting(id);
  REFRAIN_ASSERT(r != nullptr);
  decide(*r);
  questions_.erase(id);
  if (forming_) {
    continue_forming();
  }
}

executor::load_choice executor::choose_blocks(const live_request& r,
                                              const std::vector<offer_blocks>& offers) const {
  load_choice choice{kv_.match(r.kv, r.total()), {}, {}};
  choice.wanted.resize(offers.size());
  std::int64_t known = std::max<std::int64_t>(r.kv.left_tokens, r.kv.input_tokens);
  for (std::size_t i = 0; i < r.kv.keys.size() && kv_.end_of(r.kv, i) <= known; ++i) {
    bool here = static_cast<std::int64_t>(i) < choice.found.blocks || kv_.is_visible(r.kv, i);
    std::size_t tier = 0;
    while (!here && tier < offers.size() && !offers[tier].held[i]) {
      ++tier;
    }
    if (!here && tier == offers.size()) {
      break;
    }
    choice.tier_of.push_back(here ? std::uint8_t{0} : mark_of(context_.plan.tiers[tier].kind));
    if (!here) {
      choice.wanted[tier].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return choice;
}

void executor::decide(live_request& r) {
  if (r.kv.layout) {
    decide_chunks(r);
    return;
  }
  const std::vector<offer_blocks>& offers = questions_.at(r.kv.id).offers;
  load_choice choice = choose_blocks(r, offers);
  std::size_t from = split_at(r, choice, offers);
  std::size_t end = choice.tier_of.size();
  bool loads =
      from < end && kv_.admit(r.kv, choice.found, kv_.end_of(r.kv, end - 1), context_.time.now());
  if (loads) {
    begin_load(r, choice, from);
  } else {
    r.load.declined = std::move(choice.tier_of);
    choice.wanted.assign(offers.size(), {});
  }
  send_loads(r, choice.wanted);
}

/// Tells every tier which of the blocks that it offered are wanted, none among them.
void executor::send_loads(live_request& r, std::vector<std::vector<std::uint32_t>>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto blocks = static_cast<std::int64_t>(wanted[i].size());
    r.result.loaded_bytes += byte_count{blocks * context_.plan.block_bytes()};
    send(tiers_[i], load_blocks{r.kv.id, r.load.attempt, index_, std::move(wanted[i])});
  }
}

// The block of the run from which on it is loaded: its first one, or what `split` says, or its end
// where nothing is.
std::size_t executor::split_at(const live_request& r, const load_choice& choice,
                               const std::vector<offer_blocks>& offers) {
  std::size_t first = static_cast<std::size_t>(choice.found.blocks);
  std::size_t end = choice.tier_of.size();
  bool always = false;
  bool split = false;
  bool any = false;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!choice.wanted[i].empty()) {
      any = true;
      always = always || context_.plan.tiers[i].loading == tier_load::always;
      split = split || context_.plan.tiers[i].loading == tier_load::split;
    }
  }
  if (!any || (always && !split)) {
    return any ? first : end;
  }
  auto end_of = [&](std::size_t block) {
    std::int64_t to = block == 0 ? 0 : kv_.end_of(r.kv, block - 1).get();
    return token_count{std::min(to, r.total() - 1)};
  };
  // What follows the run is computed in any case, with the run or after it: an iteration has a
  // price of its own.
  sim_time nothing = compute_time(choice.found.tokens, r.total());
  sim_time rest = compute_time(end_of(end), r.total());
  auto time_from = [&](std::size_t block) {
    sim_time load = load_time(choice, offers, block);
    if (block == first && context_.plan.overlap) {
      return std::max(load, rest);
    }
    return std::max(load, compute_time(choice.found.tokens, end_of(block))) + rest;
  };
  std::size_t best = first;
  if (split) {
    // Computing takes the longer and loading the shorter, the farther back the split is: both end
    // together where the two cross.
    std::size_t high = end;
    while (best < high) {
      std::size_t middle = best + (high - best) / 2;
      if (compute_time(choice.found.tokens, end_of(middle)) < load_time(choice, offers, middle)) {
        best = middle + 1;
      } else {
        high = middle;
      }
    }
    if (best > first && time_from(best - 1) <= time_from(best)) {
      --best;
    }
    best = time_from(first) <= time_from(best) ? first : best;
  }
  return time_from(best) < nothing ? best : end;
}

// How long the slowest transfer of what is wanted of the run from block `from` on would take now.
sim_time executor::load_time(const load_choice& choice, const std::vector<offer_blocks>& offers,
                             std::size_t from) const {
  sim_time now = context_.time.now();
  sim_time end = now;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const std::vector<std::uint32_t>& wanted = choice.wanted[i];
    auto blocks = wanted.end() - std::ranges::lower_bound(wanted, from);
    if (blocks > 0) {
      byte_count bytes{blocks * context_.plan.block_bytes()};
      end = std::max(end, offers[i].link.estimate(now, bytes).end);
    }
  }
  return end - now;
}

// How long the tokens would take by themselves.
sim_time executor::compute_time(token_count from, token_count to) {
  if (to <= from) {
    return sim_time{0};
  }
  batch alone;
  alone.prefill.push_back({token_count{to - from}, from});
  return expected_.iteration(alone);
}

void executor::begin_load(live_request& r, load_choice& choice, std::size_t from) {
  kv_load& load = r.load;
  ++load.attempt;
  load.under_way = load.open = true;
  load.usable = sim_time::max();
  load.end = sim_time{0};
  load.transfers.clear();
  load.unheard = 0;
  for (std::vector<std::uint32_t>& wanted : choice.wanted) {
    wanted.erase(wanted.begin(), std::ranges::lower_bound(wanted, from));
    load.unheard += wanted.empty() ? 0 : 1;
    load.transfers.push_back({wanted, {}});
  }
  load.from = from == 0 ? token_count{0} : kv_.end_of(r.kv, from - 1);
  load.to = kv_.end_of(r.kv, choice.tier_of.size() - 1);
  // Blocks are taken that a request in front may want to enter with the next batch.
  if (planned_ > 0) {
    shorten_window();
  }
  load.declined = choice.tier_of;
  load.tier_of = std::move(choice.tier_of);
  kv_.expect_from(r.kv, from);
}

void executor::note_times(const load_started& started) {
  live_request* r = batcher_.find(started.id);
  if (r == nullptr || r->load.attempt != started.attempt) {
    return;
  }
  kv_load& load = r->load;
  load.transfers[started.tier].times = started.times;
  load.end = std::max(load.end, started.times.end);
  if (--load.unheard > 0) {
    return;
  }
  sim_time now = context_.time.now();
  load.usable = load.end;
  if (context_.plan.overlap) {
    std::int64_t first = std::min<std::int64_t>(load.to, r->total() - 1);
    std::int64_t last = std::min<std::int64_t>(r->total(), first + batching_->token_budget());
    sim_time beside = compute_time(token_count{first}, token_count{last});
    load.usable = std::max(now, load.end - beside);
    if (load.usable < load.end) {
      delayed_send(this, load.usable - now, load_progress{started.id, load.attempt, false});
    }
  }
  delayed_send(this, load.end - now, load_progress{started.id, load.attempt, true});
}

void executor::progress_load(const load_progress& what) {
  live_request* r = batcher_.find(what.id);
  if (r == nullptr || r->load.attempt != what.attempt || !r->load.under_way) {
    return;
  }
  if (what.over) {
    r->load.under_way = false;
    if (r->kv.layout) {
      kv_.fill_loaded(r->kv, r->load.to);
    } else if (!r->load.open || kv_.held(r->kv, r->total()).tokens >= r->load.from) {
      // Behind a head that is still to be computed nobody can use it.
      kv_.fill(r->kv, r->load.to);
    }
    if (r->handed_from) {
      end_handoff(*r);
    }
    publish();
  }
  consider_new_batch();
}

// The request enters with the leading run of what has come so far; the rest is computed.
void executor::cut_load(live_request& r) {
  sim_time now = context_.time.now();
  std::size_t come = r.load.tier_of.size();
  for (const kv_load::transfer& t : r.load.transfers) {
    bool heard = r.load.unheard == 0;
    if (t.blocks.empty() || (heard && t.times.end <= now)) {
      continue;
    }
    double share =
        heard ? to_seconds(now - t.times.first_byte) / to_seconds(t.times.end - t.times.first_byte)
              : 0;
    auto whole =
        static_cast<std::size_t>(std::max(share, 0.0) * static_cast<double>(t.blocks.size()));
    come = std::min<std::size_t>(come, t.blocks[std::min(whole, t.blocks.size() - 1)]);
  }
  ++r.load.attempt;
  r.load.under_way = r.load.open = false;
  if (come > 0) {
    kv_.fill(r.kv, kv_.end_of(r.kv, come - 1));
  }
  kv_.expect_nothing(r.kv);
  publish();
}

// Layers are loaded one after the other and computed as they come: a layer neither before its KV is
// there nor before the layer above is done.
sim_time executor::end_with_loads(sim_time computed) const {
  sim_time end = computed;
  sim_time now = context_.time.now();
  batcher_.for_each_open_end([&](const kv_load& load) {
    sim_time span = computed - now;
    std::int64_t layers = context_.plan.model.layers;
    for (const kv_load::transfer& t : load.transfers) {
      if (!t.blocks.empty() && t.times.end > now) {
        sim_time first_layer = t.times.first_byte + (t.times.end - t.times.first_byte) / layers;
        sim_time layer = std::max(span / layers, sim_time{1});
        end = std::max({end, first_layer + span, t.times.end + layer});
      }
    }
  });
  return end;
}

void executor::tell_tiers() {
  const kv_news& news = kv_.news();
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    tier_write mode = context_.plan.tiers[i].write;
    if (mode == tier_write::demote && i > 0) {
      continue;  // fed by the tier above
    }
    std::vector<chained_key> batch;
    if (mode == tier_write::demote) {
      // Chains are evicted from the tail; a tier is told head first.
      for (std::size_t k = news.evicted.size(); k-- > 0;) {
        batch.push_back({news.evicted[k], news.evicted[k]});
      }
    } else {
      batch = mode == tier_write::through ? news.filled : news.reused;
    }
    if (batch.empty()) {
      continue;
    }
    send(tiers_[i], store_blocks{index_, std::move(batch)});
  }
}

}  // namespace refrain
