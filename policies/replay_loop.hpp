// The tight loops of replay over a policy's concrete type, and the registration that instantiates
// them: this is why a policy's calls inline in replay while the very same object also runs behind
// the interface.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "policies/admission.hpp"
#include "policies/bound.hpp"
#include "policies/cache.hpp"
#include "policies/replay.hpp"

namespace refrain {

/// One replay of `Policy` in progress.
template <class Policy>
class replay_loop {
 public:
  /// `gate` is asked what may enter; null lets everything in.
  replay_loop(const access_columns& columns, std::int64_t capacity, const parameters& values,
              gate_keeper gate)
      : replay_loop{columns, capacity, gate, Policy::needs(values),
                    [&](const eviction_setup& setup) {
                      return Policy{values, setup};
                    }} {}
  /// The same with a policy that `make(const eviction_setup&)` returns.
  template <class Make>
  replay_loop(const access_columns& columns, std::int64_t capacity, gate_keeper gate,
              const eviction_needs& needs, const Make& make)
      : columns_{columns},
        gate_{gate},
        needs_{needs},
        heap_before_{heap_bytes()},
        setup_{slots(columns, capacity), capacity, random_stream{0, "eviction"}, nullptr},
        policy_(make(setup_)),
        cache_{policy_, capacity, setup_.slots} {}

  replay_result run_flat() {
    bool plain = gate_.policy == nullptr && columns_.sizes.empty() && columns_.tokens.empty();
    return plain ? run_flat_as<true>() : run_flat_as<false>();
  }

  replay_result run_prefix() {
    double begin = thread_seconds();
    fill_queue();
    for (std::uint64_t r = 0; r < columns_.requests(); ++r) {
      policy_.begin_request(view(r));
      drop_expired();
      std::uint64_t first = columns_.starts[r];
      std::uint64_t last = columns_.starts[r + 1];
      std::uint64_t hits = count_leading(first, last);
      result_.missed_size += last - first - hits;
      if (needs_.costs) {
        note_costs(hits, last - first);
      }
      if (gate_.policy != nullptr) {
        leading_ = gate_.policy->leading({columns_.keys.data() + first, last - first});
      }
      if (needs_.tree) {
        store_pinned(r, first, last, hits);
      } else if (needs_.front) {
        for (std::uint64_t i = first; i < last; ++i) {
          access(entry(r, i));
        }
      } else {
        for (std::uint64_t i = last; i-- > first;) {
          access(entry(r, i));
        }
      }
      advance_queue(r);
    }
    return finish(begin);
  }

 private:
  /// `plain`: every size is 1, no tokens are counted and everything may enter. The look-up of an
  /// access begins before its turn (key_map.hpp says why): its line is known and on its way `ahead`
  /// accesses before, and compared one access before.
  template <bool plain>
  replay_result run_flat_as() {
    double begin = thread_seconds();
    const block_key* keys = columns_.keys.data();
    const key_map& map = cache_.keys();
    std::uint64_t count = columns_.keys.size();
    constexpr std::uint64_t ahead = 12;
    std::uint32_t homes[16] = {};
    auto find_line = [&](std::uint64_t i) {
      if (i < count) {
        std::size_t home = map.home(keys[i]);
        map.prefetch_line(home);
        homes[i % 16] = static_cast<std::uint32_t>(home);
      }
    };
    auto matches = [&](std::uint64_t i) { return map.matches(keys[i], homes[i % 16]); };
    for (std::uint64_t i = 0; i < ahead; ++i) {
      find_line(i);
    }
    std::uint64_t row = 0;
    std::uint32_t now = count > 0 ? matches(0) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      find_line(i + ahead);
      for (; row < columns_.requests() && columns_.starts[row] == i; ++row) {
        policy_.begin_request(view(row));
        if (drop_expired()) {
          now = matches(i);
        }
      }
      std::uint64_t following = i + 1 < count ? i + 1 : i;
      std::uint32_t next = matches(following);
      if (access_flat<plain>(keys[i], i, map.find(keys[i], homes[i % 16], now))) {
        next = matches(following);
      }
      now = next;
    }
    return finish(begin);
  }

  static std::uint32_t slots(const access_columns& columns, std::int64_t capacity) {
    auto bound = static_cast<std::int64_t>(columns.keys.size());
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(capacity, 1, bound));
  }

  /// True when an entry came or went. A hit builds no entry_view that the policy does not read:
  /// most accesses are hits.
  template <bool plain>
  bool access_flat(block_key key, std::uint64_t i, slot_id slot) {
    std::uint32_t size = plain || columns_.sizes.empty() ? 1 : columns_.sizes[i];
    if (!plain && gate_.policy != nullptr) {
      leading_ = gate_.policy->leading({&columns_.keys[i], 1});
      tell_access(key);
    }
    if (slot == no_slot) {
      miss_flat<plain>(key, size);
      return true;
    }
    policy_.on_hit(slot, {.key = key, .size = size});
    if constexpr (plain) {
      ++result_.hits;
    } else {
      count_hit(result_, columns_, i);
    }
    return drop_expired();
  }
  /// Not inlined, so that the loop of hits keeps its registers.
  template <bool plain>
  [[gnu::noinline]] void miss_flat(block_key key, std::uint32_t size) {
    result_.missed_size += size;
    enter<plain>({.key = key, .size = size});
  }

  void access(const entry_view& entry) {
    slot_id slot = cache_.find(entry.key);
    tell_access(entry.key);
    if (slot == no_slot) {
      enter(entry);
      return;
    }
    policy_.on_hit(slot, entry);
    drop_expired();
  }
  void tell_access(block_key key) {
    if (gate_.needs.accesses) {
      gate_.policy->on_access(key);
    }
  }

  /// A block that is not resident goes in, if everybody agrees.
  template <bool plain = false>
  void enter(const entry_view& entry) {
    if (entry.size > cache_.capacity() || !(plain || may_enter(entry)) || !policy_.on_miss(entry)) {
      return;
    }
    while (!cache_.fits(entry.size) || policy_.is_crowded(entry)) {
      plain ? cache_.evict() : evict();
    }
    if (policy_.on_room(entry)) {
      cache_.insert(entry);
    }
  }

  /// What the admission policy says, which is asked before the eviction policy.
  bool may_enter(const entry_view& entry) {
    if (gate_.policy == nullptr) {
      return true;
    }
    if (entry.depth >= leading_) {
      return false;
    }
    slot_id last = no_slot;
    if (gate_.needs.victim && !cache_.fits(entry.size) && cache_.unpinned() > 0) {
      last = policy_.victim();
    }
    block_key victim = last == no_slot ? block_key{} : cache_.key_of(last);
    entry_view told = entry;  // a copy, so that the original may stay in registers
    return gate_.policy->admit(told, last == no_slot ? nullptr : &victim);
  }
  /// True when anything had expired.
  bool drop_expired() {
    bool any = false;
    for (; cache_.resident() > 0 && policy_.has_expired(); any = true) {
      evict();
    }
    return any;
  }
  slot_id evict() {
    slot_id gone = cache_.evict();
    if (gate_.policy != nullptr && gone != no_slot) {
      gate_.policy->on_evict(cache_.key_of(gone));
    }
    return gone;
  }

  /// Seconds per block, taken as full, that the request has to compute.
  void note_costs(std::uint64_t hits, std::uint64_t blocks) {
    double sum = 0;
    for (std::uint64_t depth = hits; depth < blocks; ++depth) {
      sum += columns_.recompute.seconds(columns_.block_tokens * static_cast<std::int64_t>(depth),
                                        columns_.block_tokens);
    }
    request_seconds_ = hits < blocks ? sum / static_cast<double>(blocks - hits) : 0;
  }

  std::uint64_t count_leading(std::uint64_t first, std::uint64_t last) {
    std::uint64_t at = first;
    while (at < last && cache_.find(columns_.keys[at]) != no_slot) {
      count_hit(result_, columns_, at++);
    }
    return at - first;
  }

  /// Leaf scope: hits are pinned, then parents go in before children until nothing more gives way.
  void store_pinned(std::uint64_t r, std::uint64_t first, std::uint64_t last, std::uint64_t hits) {
    pinned_.clear();
    slot_id parent = no_slot;
    for (std::uint64_t i = first; i < last; ++i) {
      entry_view e = entry(r, i);
      e.parent = parent;
      slot_id slot = i < first + hits ? cache_.find(e.key) : store(e);
      if (slot == no_slot) {
        break;
      }
      if (i < first + hits) {
        tell_access(e.key);
        policy_.on_hit(slot, e);
      }
      cache_.pin(slot);
      pinned_.push_back(slot);
      parent = slot;
    }
    while (!pinned_.empty()) {
      cache_.unpin(pinned_.back());
      pinned_.pop_back();
    }
  }

  slot_id store(const entry_view& e) {
    // A key that repeats inside its request is resident by now.
    tell_access(e.key);
    if (cache_.find(e.key) != no_slot || !may_enter(e) || !policy_.on_miss(e)) {
      return no_slot;
    }
    if (!cache_.fits(1) && (cache_.unpinned() == 0 || evict() == no_slot)) {
      return no_slot;
    }
    return cache_.insert(e);
  }

  entry_view entry(std::uint64_t r, std::uint64_t i) const {
    auto depth = static_cast<std::uint32_t>(i - columns_.starts[r]);
    entry_view e{.key = columns_.keys[i], .depth = depth};
    e.tokens_before = token_count{columns_.block_tokens * depth};
    if (needs_.costs) {
      std::int64_t tokens =
          columns_.tokens.empty() ? columns_.block_tokens.get() : std::int64_t{columns_.tokens[i]};
      e.recompute_seconds = columns_.recompute.seconds(e.tokens_before, tokens);
      e.request_seconds = request_seconds_;
    }
    if (!columns_.sessions.empty()) {
      e.session = columns_.sessions[r];
    }
    if (!columns_.categories.empty()) {
      e.category = columns_.categories[r];
    }
    if (needs_.hints) {
      e.priority = columns_.hints[r].priority;
      e.retention = columns_.hints[r].duration;
    }
    if (needs_.steps) {
      e.agent = columns_.agents[r];
    }
    if (needs_.queue > 0) {
      auto found = wanted_.find(e.key);
      e.wanted = found == wanted_.end() ? 0 : found->second;
    }
    return e;
  }

  request_view view(std::uint64_t r) const {
    request_view v{.id = request_id{r}};
    if (!columns_.sessions.empty()) {
      v.session = columns_.sessions[r];
    }
    if (!columns_.input_tokens.empty()) {
      v.input_tokens = columns_.input_tokens[r];
      v.output_tokens = columns_.output_tokens[r];
    }
    if (!columns_.arrivals.empty()) {
      v.now = columns_.arrivals[r];
    }
    if (needs_.steps) {
      v.upcoming = columns_.upcoming[r];
    }
    return v;
  }

  /// While request r is served the queue holds it and the next needs_.queue requests.
  void fill_queue() {
    std::uint64_t most = needs_.queue == 0 ? 0 : std::uint64_t{needs_.queue} + 1;
    for (std::uint64_t r = 0; r < std::min(most, columns_.requests()); ++r) {
      want(r);
    }
  }
  void advance_queue(std::uint64_t served) {
    if (needs_.queue == 0) {
      return;
    }
    for (std::uint64_t i = columns_.starts[served]; i < columns_.starts[served + 1]; ++i) {
      auto found = wanted_.find(columns_.keys[i]);
      if (--found->second == 0) {
        wanted_.erase(found);
        if (slot_id slot = cache_.find(columns_.keys[i]); slot != no_slot) {
          policy_.on_unwant(slot);
        }
      }
    }
    if (served + needs_.queue + 1 < columns_.requests()) {
      want(served + needs_.queue + 1);
    }
  }
  void want(std::uint64_t r) {
    for (std::uint64_t i = columns_.starts[r]; i < columns_.starts[r + 1]; ++i) {
      if (wanted_[columns_.keys[i]]++ == 0) {
        if (slot_id slot = cache_.find(columns_.keys[i]); slot != no_slot) {
          policy_.on_want(slot);
        }
      }
    }
  }

  replay_result finish(double begin) {
    result_.seconds = thread_seconds() - begin;
    result_.peak_bytes = heap_bytes() - heap_before_;
    return result_;
  }

  const access_columns& columns_;
  gate_keeper gate_;
  std::size_t leading_ = 0;  // blocks of this request that may enter
  eviction_needs needs_;
  std::uint64_t heap_before_;
  eviction_setup setup_;
  Policy policy_;
  cache<Policy> cache_;
  replay_result result_;
  std::vector<slot_id> pinned_;
  double request_seconds_ = 0;
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> wanted_;
};

/// Registers an eviction policy: `Policy(const parameters&, const eviction_setup&)`, and where it
/// needs anything a static `needs(const parameters&)`.
template <class Policy>
struct register_eviction : register_policy<eviction_entry> {
  explicit register_eviction(policy_info info)
      : register_policy{eviction_entry{
            std::move(info), &Policy::needs,
            [](const parameters& values, const eviction_setup& setup) -> std::unique_ptr<eviction> {
              return std::make_unique<Policy>(values, setup);
            },
            [](const access_columns& columns, std::int64_t capacity, const parameters& values,
               gate_keeper gate) {
              return replay_loop<Policy>{columns, capacity, values, gate}.run_flat();
            },
            [](const access_columns& columns, std::int64_t capacity, const parameters& values,
               gate_keeper gate) {
              return replay_loop<Policy>{columns, capacity, values, gate}.run_prefix();
            }}} {}
};

/// Registers an eviction policy that exists in runs only (its replay is a bound).
template <class Policy>
struct register_run_eviction : register_policy<eviction_entry> {
  explicit register_run_eviction(policy_info info)
      : register_policy{eviction_entry{
            std::move(info), &Policy::needs,
            [](const parameters& values, const eviction_setup& setup) -> std::unique_ptr<eviction> {
              return std::make_unique<Policy>(values, setup);
            },
            nullptr, nullptr}} {}
};

}  // namespace refrain
