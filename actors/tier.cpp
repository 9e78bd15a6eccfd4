#include "actors/tier.hpp"

#include <algorithm>
#include <caf/all.hpp>

namespace refrain {

namespace {

std::uint32_t slots_of(const contender_plan& plan, const tier_plan& tier) {
  std::int64_t blocks = tier.capacity / plan.block_bytes();
  return static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, plan.unique_keys));
}

lost_cause evicted_from(tier_kind kind) {
  constexpr lost_cause causes[] = {lost_cause::evicted_host, lost_cause::evicted_nvme,
                                   lost_cause::evicted_remote};
  return causes[static_cast<std::size_t>(kind)];
}

std::unique_ptr<eviction> make_policy(const contender_plan& plan, const tier_plan& tier) {
  const auto& entry = registry<eviction_entry>::find(tier.eviction.name, "tiers");
  return entry.make(tier.eviction.values, {.slots = slots_of(plan, tier),
                                           .capacity = slots_of(plan, tier),
                                           .random = {plan.seed, "eviction " + tier.name},
                                           .ahead = plan.ahead.get()});
}

}  // namespace

tier::tier(caf::actor_config& config, contender_context* context, std::uint32_t index,
           std::uint32_t instance, caf::actor below)
    : caf::event_based_actor{config},
      context_{*context},
      index_{index},
      instance_{instance},
      below_{std::move(below)},
      block_bytes_{context->plan.block_bytes()},
      capacity_blocks_{slots_of(context->plan, plan())},
      policy_{make_policy(context->plan, plan())},
      gate_{make_admission(plan().admission.name, plan().admission.values, capacity_blocks_,
                           gate_needs_)},
      cache_{*policy_, capacity_blocks_, slots_of(context->plan, plan())},
      written_(slots_of(context->plan, plan())),
      outdated_(slots_of(context->plan, plan())),
      parents_(slots_of(context->plan, plan())),
      seen_(slots_of(context->plan, plan())) {
  if (gate_) {
    capacity_blocks_ = gate_->limit(capacity_blocks_);
  }
  std::size_t links = plan().own_links ? static_cast<std::size_t>(context->plan.executors) : 1;
  loads_.assign(links, transfer_link{plan().load});
  stores_.assign(links, transfer_link{plan().store});
  staged_.resize(static_cast<std::size_t>(context->plan.executors));
  totals_.tier = index;
  totals_.instance = instance;
}

caf::behavior tier::make_behavior() {
  context_.monitor.protect(this, "tier " + plan().name + " " + std::to_string(instance_));
  return {
      [this](query_blocks& query) {
        answer_query(query);
        check();
      },
      [this](const load_blocks& wanted) {
        start_load(wanted);
        check();
      },
      [this](const load_done& ended) {
        end_load(ended);
        check();
      },
      [this](const store_blocks& batch) {
        store(batch);
        pass_down();
        check();
      },
      [this](const store_done& ended) {
        end_store(ended);
        check();
      },
      [this](const invalidate_blocks& outdated) {
        invalidate(outdated);
        check();
      },
      [this](close_books) {
        totals_.held_blocks = cache_.resident();
        send(context_.recorder, totals_);
      },
  };
}

void tier::answer_query(query_blocks& query) {
  std::vector<slot_id>& offered = offers_[{query.executor, query.id}];
  REFRAIN_ASSERT(offered.empty());
  offer_blocks offer{query.id, index_, std::vector<char>(query.keys.size()),
                     link(loads_, query.executor)};
  for (std::size_t i = 0; i < query.keys.size(); ++i) {
    slot_id slot = cache_.find(query.keys[i]);
    bool there = slot != no_slot && written_[slot] && !outdated_[slot];
    offered.push_back(there ? slot : no_slot);
    offer.held[i] = there;
    if (there) {
      cache_.pin(slot);
    }
  }
  send(context_.executors[query.executor], std::move(offer));
}

void tier::start_load(const load_blocks& wanted) {
  auto found = offers_.find({wanted.executor, wanted.id});
  REFRAIN_ASSERT(found != offers_.end());
  std::vector<slot_id> offered = std::move(found->second);
  offers_.erase(found);
  policy_->begin_request({.id = wanted.id, .now = context_.time.now()});
  for (std::uint32_t index : wanted.wanted) {
    slot_id slot = offered[index];
    policy_->on_hit(slot, {.key = cache_.key_of(slot), .depth = index});
  }
  load_done ended;
  std::ranges::copy_if(offered, std::back_inserter(ended.slots),
                       [](slot_id slot) { return slot != no_slot; });
  if (wanted.wanted.empty()) {
    end_load(ended);
    return;
  }
  totals_.loaded_blocks += static_cast<std::int64_t>(wanted.wanted.size());
  sim_time now = context_.time.now();
  transfer_times times = link(loads_, wanted.executor).start(now, bytes(wanted.wanted.size()));
  send(context_.executors[wanted.executor], load_started{wanted.id, wanted.attempt, index_, times});
  delayed_send(this, times.end - now, std::move(ended));
}

// Tail first, as always, so that the head stays longest.
void tier::end_load(const load_done& ended) {
  unpin_from_tail(ended.slots);
}

void tier::unpin_from_tail(const std::vector<slot_id>& chain) {
  for (std::size_t i = chain.size(); i-- > 0;) {
    unpin(chain[i]);
  }
}

// The resident blocks before this one in its chain, the nearest last: pinned, to be unpinned by the
// caller. A trace whose ids are no chains may lead back to where it came from.
std::vector<slot_id> tier::pin_ancestors(const chained_key& block) {
  std::vector<slot_id> chain;
  block_key before = block.key;
  block_key at = block.parent;
  ++walk_;
  for (slot_id slot; at != before && (slot = cache_.find(at)) != no_slot && seen_[slot] != walk_;) {
    seen_[slot] = walk_;
    cache_.pin(slot);
    chain.push_back(slot);
    before = at;
    at = parents_[slot];
  }
  std::ranges::reverse(chain);
  return chain;
}

// A chain comes in pieces, from the head on. What is here of it already must not give way for its
// own tail, and where not all can be taken the blocks nearest to the head are: without the block
// before it, as far as that is known, a block is of no use.
void tier::store(const store_blocks& batch) {
  std::vector<std::vector<slot_id>> in_use;
  std::vector<const chained_key*> missing;
  for (const chained_key& block : batch.blocks) {
    if (slot_id slot = cache_.find(block.key); slot != no_slot) {
      if (gate_needs_.accesses) {
        gate_->on_access(block.key);
      }
      policy_->on_hit(slot, {.key = block.key});
      cache_.pin(slot);
      in_use.push_back({slot});
      continue;
    }
    bool goes_on = !missing.empty() && missing.back()->key == block.parent;
    bool orphan = !goes_on && block.parent != block.key && cache_.find(block.parent) == no_slot;
    if (orphan) {
      ++totals_.dropped_blocks;
      continue;
    }
    if (!goes_on) {
      in_use.push_back(pin_ancestors(block));
    }
    missing.push_back(&block);
  }
  std::int64_t room = std::min((plan().staging - staged_[batch.writer]) / block_bytes_,
                               capacity_blocks_ - cache_.resident() + cache_.unpinned());
  auto taken = std::min(missing.size(), static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
  totals_.dropped_blocks += static_cast<std::int64_t>(missing.size() - taken);
  missing.resize(taken);
  store_done ended{batch.writer, {}};
  const chained_key* refused = nullptr;
  for (const chained_key* block : missing) {
    if (cache_.find(block->key) != no_slot) {
      continue;  // two requests told of it at once
    }
    bool orphan = refused != nullptr && refused->key == block->parent;
    slot_id slot = orphan ? no_slot : store_one(*block);
    if (slot != no_slot) {
      ended.slots.push_back(slot);
    } else {
      ++totals_.dropped_blocks;
      refused = block;
    }
  }
  while (!in_use.empty()) {
    unpin_from_tail(in_use.back());
    in_use.pop_back();
  }
  if (ended.slots.empty()) {
    return;
  }
  staged_[batch.writer] += bytes(ended.slots.size());
  sim_time now = context_.time.now();
  sim_time end = link(stores_, batch.writer).start(now, bytes(ended.slots.size())).end;
  delayed_send(this, end - now, std::move(ended));
}

slot_id tier::store_one(const chained_key& block) {
  entry_view entry{.key = block.key};
  if (capacity_blocks_ == 0 || !may_enter(entry) || !policy_->on_miss(entry) || !make_room()) {
    return no_slot;
  }
  slot_id slot = cache_.insert(entry);
  written_[slot] = outdated_[slot] = false;
  parents_[slot] = block.parent;
  cache_.pin(slot);
  ++in_flight_;
  ++totals_.stored_blocks;
  totals_.peak_blocks = std::max(totals_.peak_blocks, cache_.resident());
  return slot;
}

// What the admission policy says of a block by itself: a tier does not know its chain.
bool tier::may_enter(const entry_view& entry) {
  if (!gate_) {
    return true;
  }
  if (gate_needs_.accesses) {
    gate_->on_access(entry.key);
  }
  if (gate_->leading({&entry.key, 1}) == 0) {
    return false;
  }
  bool full = cache_.resident() >= capacity_blocks_ && cache_.unpinned() > 0;
  slot_id last = gate_needs_.victim && full ? policy_->victim() : no_slot;
  block_key victim = last == no_slot ? block_key{} : cache_.key_of(last);
  return gate_->admit(entry, last == no_slot ? nullptr : &victim);
}

bool tier::make_room() {
  if (cache_.resident() < capacity_blocks_) {
    return true;
  }
  if (cache_.unpinned() == 0) {
    return false;
  }
  slot_id gone = cache_.evict();
  if (gone == no_slot) {
    return false;
  }
  ++totals_.evicted_blocks;
  block_key key = cache_.key_of(gone);
  evicted_.push_back({key, parents_[gone]});
  if (gate_) {
    gate_->on_evict(key);
  }
  context_.history.evicted_below(key, evicted_from(plan().kind));
  return true;
}

// The blocks before those that are there now become as recent as they are, so that a chain gives
// way from its tail.
void tier::end_store(const store_done& ended) {
  std::vector<std::vector<slot_id>> before;
  for (std::size_t i = ended.slots.size(); i-- > 0;) {
    slot_id slot = ended.slots[i];
    written_[slot] = true;
    --in_flight_;
    chained_key block{cache_.key_of(slot), parents_[slot]};
    bool goes_on = i > 0 && cache_.key_of(ended.slots[i - 1]) == block.parent;
    if (!goes_on) {
      before.push_back(pin_ancestors(block));
    }
    unpin(slot);
  }
  for (const std::vector<slot_id>& chain : before) {
    unpin_from_tail(chain);
  }
  staged_[ended.writer] -= bytes(ended.slots.size());
}

// Under the strict protocol what is on its way in is not kept either.
void tier::invalidate(const invalidate_blocks& outdated) {
  bool strict = context_.plan.knowledge.protocol == knowledge_protocol::strict;
  for (block_key key : *outdated.keys) {
    slot_id slot = cache_.find(key);
    if (slot == no_slot || outdated_[slot] || !(written_[slot] || strict)) {
      continue;
    }
    ++totals_.invalidated_blocks;
    if (cache_.pins_of(slot) == 0) {
      cache_.remove(slot);
    } else {
      outdated_[slot] = true;
    }
  }
}

void tier::unpin(slot_id slot) {
  if (cache_.unpin(slot) && outdated_[slot]) {
    cache_.remove(slot);
  }
}

void tier::pass_down() {
  if (!evicted_.empty() && below_) {
    store_blocks batch;
    for (std::size_t i = evicted_.size(); i-- > 0;) {
      batch.blocks.push_back(evicted_[i]);
    }
    send(below_, std::move(batch));
  }
  evicted_.clear();
}

void tier::check() const {
  if constexpr (refrain_debug_checks) {
    REFRAIN_ASSERT(cache_.occupied() == cache_.resident());
    REFRAIN_ASSERT(cache_.resident() <= capacity_blocks_);
    std::int64_t staged = 0;
    for (std::int64_t b : staged_) {
      REFRAIN_ASSERT(b >= 0);
      staged += b;
    }
    REFRAIN_ASSERT(staged == in_flight_ * block_bytes_);
    REFRAIN_ASSERT(cache_.unpinned() >= 0);
  }
}

}  // namespace refrain
