#include "policies/guard.hpp"

#include "policies/replay_loop.hpp"

namespace refrain {

guarded_eviction::guarded_eviction(std::string who, std::unique_ptr<eviction> policy,
                                   const eviction_needs& needs, std::uint32_t slots, bool watch)
    : guard_{std::move(who), watch}, policy_{std::move(policy)}, tree_{needs.tree}, slots_(slots) {
  if (policy_ == nullptr) {
    guard_.fail("made no policy");
  }
}

void guarded_eviction::begin_request(const request_view& request) {
  guard_.call("begin_request", [&] { policy_->begin_request(request); });
}
std::optional<sim_time> guarded_eviction::next_expiry() const {
  return guard_.call("next_expiry", [&] { return policy_->next_expiry(); });
}
void guarded_eviction::on_time(sim_time now) {
  guard_.call("on_time", [&] { policy_->on_time(now); });
}
bool guarded_eviction::has_expired() {
  return guard_.call("has_expired", [&] { return policy_->has_expired(); });
}
bool guarded_eviction::on_miss(const entry_view& entry) {
  return guard_.call("on_miss", [&] { return policy_->on_miss(entry); });
}
bool guarded_eviction::is_crowded(const entry_view& entry) {
  return guard_.call("is_crowded", [&] { return policy_->is_crowded(entry); });
}
bool guarded_eviction::on_room(const entry_view& entry) {
  return guard_.call("on_room", [&] { return policy_->on_room(entry); });
}

void guarded_eviction::on_insert(slot_id slot, const entry_view& entry) {
  if (slot >= slots_.size()) {
    slots_.resize(std::size_t{slot} * 2 + 1);
  }
  slot_state& state = slots_[slot];
  state.resident = true;
  ++resident_;
  if (tree_ && entry.parent != no_slot && slots_[entry.parent].resident) {
    state.parent = entry.parent;
    state.parent_life = slots_[entry.parent].life;
    ++slots_[entry.parent].children;
  }
  guard_.call("on_insert", [&] { policy_->on_insert(slot, entry); });
}
void guarded_eviction::on_hit(slot_id slot, const entry_view& entry) {
  guard_.call("on_hit", [&] { policy_->on_hit(slot, entry); });
}
void guarded_eviction::on_pin(slot_id slot) {
  slots_[slot].pinned = true;
  ++pinned_;
  guard_.call("on_pin", [&] { policy_->on_pin(slot); });
}
void guarded_eviction::on_unpin(slot_id slot) {
  slots_[slot].pinned = false;
  --pinned_;
  guard_.call("on_unpin", [&] { policy_->on_unpin(slot); });
}

slot_id guarded_eviction::victim() {
  if (resident_ == pinned_) {
    guard_.fail("wants a block evicted though none is left that could be");
  }
  slot_id slot = guard_.call("victim", [&] { return policy_->victim(); });
  if (slot == no_slot) {
    check_refusal();
  } else {
    check_victim(slot);
  }
  return slot;
}

void guarded_eviction::check_victim(slot_id slot) const {
  auto refuse = [&](const std::string& is) {
    guard_.fail("wrong victim: victim() named slot " + std::to_string(slot.get()) + ", which is " +
                is);
  };
  if (slot >= slots_.size()) {
    refuse("out of range (there are " + std::to_string(slots_.size()) + " slots)");
  } else if (!slots_[slot].resident) {
    refuse("not resident");
  } else if (slots_[slot].pinned) {
    refuse("pinned");
  }
}

// Under leaf scope nothing may be left to give way, but only where every unpinned block has
// children.
void guarded_eviction::check_refusal() const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const slot_state& state = slots_[slot];
    if (state.resident && !state.pinned && (!tree_ || state.children == 0)) {
      guard_.fail("wrong victim: victim() named none though slot " + std::to_string(slot) +
                  " is unpinned" + (tree_ ? " and has no resident children" : ""));
    }
  }
}

void guarded_eviction::forget(slot_id slot) {
  slot_state& state = slots_[slot];
  --resident_;
  if (state.parent != no_slot && slots_[state.parent].life == state.parent_life) {
    --slots_[state.parent].children;
  }
  state = {.life = state.life + 1};
}

void guarded_eviction::on_remove(slot_id slot) {
  forget(slot);
  guard_.call("on_remove", [&] { policy_->on_remove(slot); });
}
void guarded_eviction::on_evict(slot_id slot, block_key key) {
  forget(slot);
  guard_.call("on_evict", [&] { policy_->on_evict(slot, key); });
}
void guarded_eviction::on_want(slot_id slot) {
  guard_.call("on_want", [&] { policy_->on_want(slot); });
}
void guarded_eviction::on_unwant(slot_id slot) {
  guard_.call("on_unwant", [&] { policy_->on_unwant(slot); });
}

namespace {

/// Makes guarded policies of one entry.
struct guarded_maker {
  eviction_entry entry;
  std::string who;
  bool watch;

  eviction_needs needs(const parameters& values) const {
    return call_guard{who, watch}.call("needs", [&] { return entry.needs(values); });
  }
  guarded_eviction make(const parameters& values, const eviction_setup& setup) const {
    auto policy =
        call_guard{who, watch}.call("constructor", [&] { return entry.make(values, setup); });
    return {who, std::move(policy), needs(values), setup.slots, watch};
  }
  replay_loop<guarded_eviction> loop(const access_columns& columns, std::int64_t capacity,
                                     const parameters& values, gate_keeper gate) const {
    return {columns, capacity, gate, needs(values),
            [&](const eviction_setup& setup) { return make(values, setup); }};
  }
};

}  // namespace

// The plug-in's own loops would act unseen on what the policy says, so replay takes ours.
eviction_entry guarded(const eviction_entry& entry, const std::string& who, bool watch) {
  guarded_maker maker{entry, who, watch};
  eviction_entry safe = entry;
  safe.needs = [maker](const parameters& values) { return maker.needs(values); };
  safe.make = [maker](const parameters& values, const eviction_setup& setup) {
    // Not movable: made in place.
    return std::unique_ptr<eviction>{new guarded_eviction(maker.make(values, setup))};
  };
  if (entry.replay_flat != nullptr) {
    safe.replay_flat = [maker](const access_columns& columns, std::int64_t capacity,
                               const parameters& values, gate_keeper gate) {
      return maker.loop(columns, capacity, values, gate).run_flat();
    };
  }
  if (entry.replay_prefix != nullptr) {
    safe.replay_prefix = [maker](const access_columns& columns, std::int64_t capacity,
                                 const parameters& values, gate_keeper gate) {
      return maker.loop(columns, capacity, values, gate).run_prefix();
    };
  }
  return safe;
}

}  // namespace refrain
