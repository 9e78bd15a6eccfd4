#include "policies/check_driver.hpp"

namespace refrain {

namespace {

constexpr std::uint64_t requests = 400;
constexpr std::size_t running_max = 3;
constexpr std::uint64_t waiting = 4;  // requests in the look-ahead queue
constexpr token_count block_tokens{16};

}  // namespace

std::string title_of(const eviction_entry& entry) {
  std::string name = "policy \"" + std::string{entry.info.name} + "\"";
  return entry.info.plugin.empty() ? name : std::string{entry.info.plugin} + ": " + name;
}

parameters values_of(const checked_policy& policy) {
  return {policy.entry->info.parameters, policy.given, title_of(*policy.entry)};
}

check_driver::check_driver(const checked_policy& policy, std::uint64_t seed, std::uint32_t slots)
    : slots_{slots},
      random_{seed, "conformance"},
      needs_{policy.entry->needs(values_of(policy))},
      upcoming_(1),
      policy_{title_of(*policy.entry),
              policy.entry->make(values_of(policy), {.slots = slots,
                                                     .capacity = slots,
                                                     .random = random_stream{seed, "eviction"},
                                                     .ahead = &ahead_}),
              needs_, slots, policy.watch},
      cache_{policy_, slots, slots},
      shared_(slots) {
  for (std::uint64_t r = 0; r < requests; ++r) {
    chains_.push_back(random_chain());
    ahead_.add(request_id{r}, chains_.back());
  }
}

driven check_driver::run() {
  for (std::uint64_t r = 0; r < requests + waiting; ++r) {
    if (r < requests) {
      want(r, true);
    }
    if (r < waiting) {
      continue;
    }
    if (running_.size() > running_max) {
      finish(random_.below(running_.size()), random_.below(8) == 0);
    }
    serve(r - waiting);
    want(r - waiting, false);
    if (cache_.occupied() > slots_) {
      policy_.calls().fail("over capacity: " + std::to_string(cache_.occupied()) + " blocks in " +
                           std::to_string(slots_));
    }
  }
  while (!running_.empty()) {
    finish(0, false);
  }
  seen_.requests = requests;
  seen_.allocating_calls = policy_.calls().allocating_calls();
  if (const char* call = policy_.calls().first_allocating(); call != nullptr) {
    seen_.allocating = call;
  }
  return seen_;
}

std::vector<block_key> check_driver::random_chain() {
  std::uint64_t family = random_.below(6);
  std::vector<block_key> chain;
  std::uint64_t shared = random_.below(6);
  std::uint64_t length = shared + 1 + random_.below(4);
  for (std::uint64_t i = 0; i < length; ++i) {
    std::uint64_t branch = i < shared ? 0 : 1 + random_.below(3);
    std::uint64_t before = chain.empty() ? family : chain.back().get();
    chain.push_back(block_key{mix64(before, branch)});
  }
  return chain;
}

entry_view check_driver::entry_of(std::uint64_t r, std::uint32_t depth, slot_id parent) const {
  entry_view entry{.key = chains_[r][depth], .depth = depth, .parent = parent};
  entry.session = session_id{r % 7};
  entry.tokens_before = token_count{block_tokens * depth};
  entry.category = static_cast<std::uint32_t>(r % 3);
  entry.priority = static_cast<std::int32_t>(r % 4 * 30);
  entry.retention = sim_time{static_cast<std::int64_t>(r % 5) * 1'000'000'000};
  entry.agent = static_cast<std::uint32_t>(r % 4);
  entry.recompute_seconds = 1e-3 * (1 + 0.1 * depth);
  entry.request_seconds = 1e-3 * (1 + 0.05 * static_cast<double>(chains_[r].size()));
  if (auto found = wanted_.find(entry.key); found != wanted_.end()) {
    entry.wanted = found->second;
  }
  return entry;
}

void check_driver::serve(std::uint64_t r) {
  upcoming_[0] = {static_cast<std::uint32_t>((r + 1) % 4), 1};
  policy_.begin_request(
      {.id = request_id{r},
       .session = session_id{r % 7},
       .input_tokens = token_count{block_tokens * static_cast<std::int64_t>(chains_[r].size())},
       .output_tokens = block_tokens,
       .now = sim_time{static_cast<std::int64_t>(r) * 1'000'000'000},
       .upcoming = upcoming_});
  running_request next;
  slot_id parent = no_slot;
  for (std::uint32_t depth = 0; depth < chains_[r].size(); ++depth) {
    entry_view entry = entry_of(r, depth, parent);
    slot_id slot = cache_.find(entry.key);
    if (slot != no_slot) {
      policy_.on_hit(slot, entry);
      shared_[slot] = true;
      next.found = depth + 1;
    } else if (!policy_.on_miss(entry) || (slot = store(entry)) == no_slot) {
      break;
    }
    cache_.pin(slot);
    next.used.push_back(slot);
    parent = slot;
  }
  running_.push_back(std::move(next));
}

slot_id check_driver::store(const entry_view& entry) {
  while (!cache_.fits(1)) {
    if (cache_.unpinned() == 0) {
      return no_slot;
    }
    slot_id gone = cache_.evict();
    if (gone == no_slot) {
      return no_slot;
    }
    ++seen_.evictions;
    seen_.choices = mix64(seen_.choices, gone.get());
  }
  slot_id slot = cache_.insert(entry);
  shared_[slot] = false;
  return slot;
}

// Blocks that a request which gives up has not filled leave the cache, from its tail.
void check_driver::finish(std::size_t which, bool gives_up) {
  std::vector<slot_id>& used = running_[which].used;
  while (gives_up && used.size() > running_[which].found && !shared_[used.back()]) {
    cache_.unpin(used.back());
    cache_.remove(used.back());
    used.pop_back();
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    cache_.unpin(used[needs_.front ? i : used.size() - 1 - i]);
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
}

void check_driver::want(std::uint64_t r, bool wanted) {
  if (needs_.queue == 0) {
    return;
  }
  for (block_key key : chains_[r]) {
    std::uint32_t& count = wanted_[key];
    bool changes = wanted ? count++ == 0 : --count == 0;
    slot_id slot = changes ? cache_.find(key) : no_slot;
    if (slot != no_slot) {
      wanted ? policy_.on_want(slot) : policy_.on_unwant(slot);
    }
  }
}

}  // namespace refrain
