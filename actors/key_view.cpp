#include "actors/key_view.hpp"

#include <algorithm>
#include <bit>

#include "traces/error.hpp"

namespace refrain {

key_view::key_view(std::size_t executors)
    : executors_{executors}, groups_((executors + group_size - 1) / group_size) {}

void key_view::apply(std::size_t executor, std::span<const key_change> changes) {
  REFRAIN_ASSERT(executor < executors_);
  group& keys = groups_[executor / group_size];
  holders mine = holders{1} << (executor % group_size);
  for (const key_change& change : changes) {
    if (change.findable) {
      keys[change.key] |= mine;
    } else if (auto found = keys.find(change.key); found != keys.end()) {
      found->second &= ~mine;
      if (found->second == 0) {
        keys.erase(found);
      }
    }
  }
}

key_view::holders key_view::holders_of(const group& keys, block_key key) {
  auto found = keys.find(key);
  return found == keys.end() ? 0 : found->second;
}

void key_view::leading_runs(std::span<const block_key> chain, std::span<std::int64_t> runs) const {
  REFRAIN_ASSERT(runs.size() == executors_);
  std::ranges::fill(runs, 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    holders still = ~holders{0};
    for (std::size_t i = 0; i <= chain.size() && still != 0; ++i) {
      holders next = i < chain.size() ? still & holders_of(groups_[g], chain[i]) : 0;
      // Bits beyond the last executor end with the first key.
      for (holders ended = i > 0 ? still & ~next : 0; ended != 0; ended &= ended - 1) {
        std::size_t bit = static_cast<std::size_t>(std::countr_zero(ended));
        runs[g * group_size + bit] = static_cast<std::int64_t>(i);
      }
      still = next;
    }
  }
}

std::size_t key_view::size() const {
  std::size_t total = 0;
  for (const group& keys : groups_) {
    total += keys.size();
  }
  return total;
}

}  // namespace refrain
