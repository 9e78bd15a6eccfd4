// Merging neighbours, best first, until none is left: what both kinds of BPE do after their first
// cut. O(n log n) in the number of symbols, so that a long run without a blank stays cheap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/model_files/vocabulary.hpp"

namespace refrain {

/// What two neighbours become; smaller `order` goes first, of equal ones the leftmost.
struct merge_result {
  double order;
  token_id merged;
};

/// Merges `symbols` in place. `find(left, right)` gives an optional merge_result.
template <class Find>
void merge_all(std::vector<token_id>& symbols, Find find) {
  constexpr std::uint32_t none = UINT32_MAX;
  struct candidate {
    double order;
    std::uint32_t left, right;
    token_id left_symbol, right_symbol, merged;
    bool operator<(const candidate& other) const {  // the heap's top is its largest
      return order != other.order ? order > other.order : left > other.left;
    }
  };
  auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> next(count), previous(count);
  std::vector<candidate> heap;
  auto offer = [&](std::uint32_t left, std::uint32_t right) {
    if (std::optional<merge_result> result = find(symbols[left], symbols[right])) {
      heap.push_back({result->order, left, right, symbols[left], symbols[right], result->merged});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? none : i - 1;
    next[i] = i + 1 == count ? none : i + 1;
    if (i > 0) {
      offer(i - 1, i);
    }
  }
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    candidate best = heap.back();
    heap.pop_back();
    // Stale where a neighbour was merged meanwhile; a symbol that was merged away is -1.
    if (symbols[best.left] != best.left_symbol || next[best.left] != best.right ||
        symbols[best.right] != best.right_symbol) {
      continue;
    }
    symbols[best.left] = best.merged;
    symbols[best.right] = -1;
    next[best.left] = next[best.right];
    if (next[best.right] != none) {
      previous[next[best.right]] = best.left;
      offer(best.left, next[best.left]);
    }
    if (previous[best.left] != none) {
      offer(previous[best.left], best.left);
    }
  }
  std::erase(symbols, -1);
}

}  // namespace refrain
