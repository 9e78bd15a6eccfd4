// A sound bound for objects of different sizes, where the optimum is not to be had: an object that
// is to hit must lie in the cache from one access to the next, so a hit takes its size times that
// span out of the capacity times the length of the trace. The cheapest hits that fit into this
// volume, whatever their order, are at least as many as any policy can have. For the missed size
// the hits that save most size per volume are taken, the last one in part. A relaxation, so it can
// lie above what is possible; it is exact where everything fits.
#include <algorithm>
#include <vector>

#include "policies/bound.hpp"

namespace refrain {
namespace {

struct chance {
  std::uint64_t span;
  std::uint64_t size;
};

std::vector<chance> chances(const access_columns& columns, std::int64_t capacity) {
  numbered_accesses all = number_accesses(columns, false);
  std::vector<chance> found;
  std::vector<std::uint64_t> last(all.unique, never);
  for (std::uint64_t i = 0; i < columns.keys.size(); ++i) {
    std::uint64_t& before = last[all.numbers[i]];
    std::uint64_t size = columns.sizes.empty() ? 1 : columns.sizes[i];
    if (before != never && size <= static_cast<std::uint64_t>(capacity)) {
      found.push_back({i - before, size});
    }
    before = i;
  }
  return found;
}

replay_result flat(const access_columns& columns, std::int64_t capacity) {
  std::vector<chance> all = chances(columns, capacity);
  double volume = static_cast<double>(capacity) * static_cast<double>(columns.keys.size());
  replay_result result;
  std::sort(all.begin(), all.end(),
            [](const chance& a, const chance& b) { return a.span * a.size < b.span * b.size; });
  double left = volume;
  for (const chance& c : all) {
    left -= static_cast<double>(c.span) * static_cast<double>(c.size);
    if (left < 0) {
      break;
    }
    ++result.hits;
  }
  std::sort(all.begin(), all.end(),
            [](const chance& a, const chance& b) { return a.span < b.span; });
  double saved = 0;
  left = volume;
  for (const chance& c : all) {
    double whole = static_cast<double>(c.span) * static_cast<double>(c.size);
    double part = std::min(1.0, left / whole);
    saved += part * static_cast<double>(c.size);
    left -= whole;
    if (left <= 0) {
      break;
    }
  }
  for (std::uint32_t size : columns.sizes) {
    result.missed_size += size;
  }
  if (columns.sizes.empty()) {
    result.missed_size = columns.keys.size();
  }
  result.missed_size -= std::min(result.missed_size, static_cast<std::uint64_t>(saved) + 1);
  return result;
}

const register_policy<bound_entry> registration{
    {policy_info{.name = "volume",
                 .summary = "a relaxed bound of flat replay for objects of different sizes",
                 .source = "Berger, Beckmann and Harchol-Balter, POMACS 2018 (PFOO-L)"},
     flat, nullptr}};

}  // namespace
}  // namespace refrain
