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
      written_(slots_of(context->plan, plan())) {
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
    bool there = slot != no_slot && written_[slot];
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
  load_done ended{wanted.id, wanted.attempt, wanted.executor, {}};
  policy_->begin_request({.id = wanted.id, .now = context_.time.now()});
  for (std::uint32_t index : wanted.wanted) {
    slot_id slot = std::exchange(offered[index], no_slot);
    policy_->on_hit(slot, {.key = cache_.key_of(slot), .depth = index});
    ended.slots.push_back(slot);
  }
  for (std::size_t i = offered.size(); i-- > 0;) {
    if (offered[i] != no_slot) {
      cache_.unpin(offered[i]);
    }
  }
  if (ended.slots.empty()) {
    return;
  }
  totals_.loaded_blocks += static_cast<std::int64_t>(ended.slots.size());
  sim_time now = context_.time.now();
  sim_time end = link(loads_, wanted.executor).start(now, bytes(ended.slots.size()));
  delayed_send(this, end - now, std::move(ended));
}

void tier::end_load(const load_done& ended) {
  for (std::size_t i = ended.slots.size(); i-- > 0;) {
    cache_.unpin(ended.slots[i]);
  }
  send(context_.executors[ended.executor], blocks_loaded{ended.id, ended.attempt, index_});
}

// Deepest blocks come first into a policy's order, so that a chain gives way from its tail.
void tier::store(const store_blocks& batch) {
  store_done ended{batch.writer, {}};
  for (std::size_t i = batch.keys.size(); i-- > 0;) {
    slot_id slot = cache_.find(batch.keys[i]);
    if (slot != no_slot) {
      if (gate_needs_.accesses) {
        gate_->on_access(batch.keys[i]);
      }
      policy_->on_hit(slot, {.key = batch.keys[i]});
      continue;
    }
    slot =
        staged_[batch.writer] + block_bytes_ <= plan().staging ? store_one(batch.keys[i]) : no_slot;
    if (slot == no_slot) {
      ++totals_.dropped_blocks;
      continue;
    }
    staged_[batch.writer] += block_bytes_;
    ended.slots.push_back(slot);
  }
  if (ended.slots.empty()) {
    return;
  }
  sim_time now = context_.time.now();
  sim_time end = link(stores_, batch.writer).start(now, bytes(ended.slots.size()));
  delayed_send(this, end - now, std::move(ended));
}

slot_id tier::store_one(block_key key) {
  entry_view entry{.key = key};
  if (capacity_blocks_ == 0 || !may_enter(entry) || !policy_->on_miss(entry) || !make_room()) {
    return no_slot;
  }
  slot_id slot = cache_.insert(entry);
  written_[slot] = false;
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
  evicted_.push_back(cache_.key_of(gone));
  if (gate_) {
    gate_->on_evict(evicted_.back());
  }
  context_.history.evicted_below(evicted_.back(), evicted_from(plan().kind));
  return true;
}

void tier::end_store(const store_done& ended) {
  for (slot_id slot : ended.slots) {
    written_[slot] = true;
    --in_flight_;
    cache_.unpin(slot);
  }
  staged_[ended.writer] -= bytes(ended.slots.size());
}

void tier::pass_down() {
  if (!evicted_.empty() && below_) {
    std::reverse(evicted_.begin(), evicted_.end());
    send(below_, store_blocks{0, evicted_});
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
