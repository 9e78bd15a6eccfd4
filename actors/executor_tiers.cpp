// The executor's dealings with the tiers below it: what it asks for a waiting request, whether it
// loads or computes, and what it tells them to keep.
#include <algorithm>
#include <caf/all.hpp>

#include "actors/executor.hpp"

namespace refrain {

namespace {

// How kv_load::tier_of marks a kind of memory.
std::uint8_t mark_of(tier_kind kind) {
  return static_cast<std::uint8_t>(1 + static_cast<std::uint8_t>(kind));
}

}  // namespace

// Asked once, and again when less is found in GPU memory than then.
bool executor::is_new_to_tiers(const live_request& r) const {
  if (tiers_.empty() || !r.kv.blocks.empty() || r.kv.keys.empty() || !reuse_->shares()) {
    return false;
  }
  kv_match found = kv_.match(r.kv, r.total());
  bool all_found = found.blocks >= static_cast<std::int64_t>(r.kv.keys.size());
  return !all_found && (r.load.asked_blocks < 0 || found.blocks < r.load.asked_blocks);
}

void executor::ask_tiers(live_request& r) {
  r.load.asked_blocks = kv_.match(r.kv, r.total()).blocks;
  questions_[r.kv.id] = {std::vector<offer_blocks>(tiers_.size(), offer_blocks{}), tiers_.size()};
  for (const caf::actor& each : tiers_) {
    send(each, query_blocks{r.kv.id, index_, r.kv.keys});
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
  const std::vector<offer_blocks>& offers = questions_.at(r.kv.id).offers;
  load_choice choice = choose_blocks(r, offers);
  token_count upto =
      choice.tier_of.empty() ? token_count{0} : kv_.end_of(r.kv, choice.tier_of.size() - 1);
  if (is_worth_loading(r, choice, offers) &&
      kv_.admit(r.kv, choice.found, upto, context_.time.now())) {
    r.load.to = upto;
    r.load.tier_of = std::move(choice.tier_of);
    ++r.load.attempt;
  } else {
    r.load.declined = std::move(choice.tier_of);
    choice.wanted.assign(offers.size(), {});
  }
  for (std::size_t i = 0; i < offers.size(); ++i) {
    auto blocks = static_cast<std::int64_t>(choice.wanted[i].size());
    r.load.transfers += blocks > 0 ? 1 : 0;
    r.result.loaded_bytes += byte_count{blocks * context_.plan.block_bytes()};
    send(tiers_[i], load_blocks{r.kv.id, r.load.attempt, index_, std::move(choice.wanted[i])});
  }
}

// `automatic` compares the end of the slowest transfer, as its link stands, with computing the same
// tokens at once.
bool executor::is_worth_loading(const live_request& r, const load_choice& choice,
                                const std::vector<offer_blocks>& offers) {
  sim_time now = context_.time.now();
  sim_time end = now;
  bool any = false;
  bool always = false;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!choice.wanted[i].empty()) {
      any = true;
      always = always || context_.plan.tiers[i].loading == tier_load::always;
      auto blocks = static_cast<std::int64_t>(choice.wanted[i].size());
      byte_count bytes{blocks * context_.plan.block_bytes()};
      end = std::max(end, offers[i].link.estimate(now, bytes));
    }
  }
  if (!any || always) {
    return any;
  }
  std::int64_t last =
      std::min<std::int64_t>(kv_.end_of(r.kv, choice.tier_of.size() - 1), r.total() - 1);
  batch instead;
  instead.prefill.push_back(
      {token_count{std::max<std::int64_t>(last - choice.found.tokens, 1)}, choice.found.tokens});
  return end - now < engine_.iteration(instead);
}

void executor::end_load(const blocks_loaded& loaded) {
  live_request* r = batcher_.find_waiting(loaded.id);
  if (r == nullptr || r->load.attempt != loaded.attempt || --r->load.transfers > 0) {
    return;
  }
  kv_.fill(r->kv, r->load.to);
  publish();
  // It may enter with the first batch that is formed now or later.
  if (planned_ == 0) {
    settle();
  } else {
    shorten_window();
  }
}

// The request enters with what has come so far: nothing of a transfer that has not ended.
void executor::cut_load(live_request& r) {
  ++r.load.attempt;
  r.load.transfers = 0;
}

void executor::tell_tiers() {
  const kv_news& news = kv_.news();
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    tier_write mode = context_.plan.tiers[i].write;
    if (mode == tier_write::demote && i > 0) {
      continue;  // fed by the tier above
    }
    const std::vector<block_key>& keys = mode == tier_write::demote    ? news.evicted
                                         : mode == tier_write::through ? news.filled
                                                                       : news.reused;
    if (keys.empty()) {
      continue;
    }
    std::vector<block_key> batch = keys;
    if (mode == tier_write::demote) {
      // Chains are evicted from the tail; a tier is told head first.
      std::reverse(batch.begin(), batch.end());
    }
    send(tiers_[i], store_blocks{index_, std::move(batch)});
  }
}

}  // namespace refrain
