// A bucket is a vector's side of some hyperplanes. Which other buckets are worth a look follows
// from how near the vector is to each plane: sets of bits are flipped in order of the sum of their
// squared distances, found with a heap of sets that are shifted and expanded.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <numeric>
#include <queue>

#include "traces/corpus/dot.hpp"
#include "traces/corpus/fingerprint.hpp"
#include "traces/corpus/vector_index.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// A set of bits to flip, by places in the order of their cost; the last one is the highest.
struct flip {
  float cost = 0;
  std::uint32_t places = 0;
  std::size_t last = 0;

  friend bool operator>(const flip& a, const flip& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.places > b.places;
  }
};

class lsh_index final : public vector_index {
 public:
  lsh_index(const index_settings& settings, std::size_t width)
      : settings_{settings.lsh},
        planes_{settings.lsh.tables * settings.lsh.bits, width, settings.seed, "lsh"},
        rows_{width},
        tables_(settings.lsh.tables) {
    REFRAIN_ASSERT(settings_.bits >= 1 && settings_.bits <= 30 && settings_.probes >= 1);
  }

  void add(std::uint32_t id, std::span<const float> vector) override {
    std::uint32_t row = rows_.add(id, vector);
    REFRAIN_ASSERT(places_.emplace(id, row).second);
    std::vector<float> sides = sides_of(vector);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t][bucket_of(sides, t)].push_back(row);
    }
  }

  void remove(std::uint32_t id) override {
    auto found = places_.find(id);
    REFRAIN_ASSERT(found != places_.end());
    std::uint32_t row = found->second;
    std::vector<float> sides = sides_of(rows_.at(row));
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      std::erase(tables_[t][bucket_of(sides, t)], row);
    }
    rows_.remove(row);
    places_.erase(found);
  }

  std::vector<neighbour> search(std::span<const float> vector, std::size_t count,
                                float least) const override {
    std::vector<float> sides = sides_of(vector);
    std::vector<char> seen(rows_.rows());
    nearest best{count, least};
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (std::uint32_t bucket : buckets_near(sides, t)) {
        auto found = tables_[t].find(bucket);
        if (found == tables_[t].end()) {
          continue;
        }
        for (std::uint32_t row : found->second) {
          if (seen[row] == 0) {
            seen[row] = 1;
            best.offer({rows_.id(row), dot(rows_.at(row), vector)});
          }
        }
      }
    }
    return best.take();
  }

  std::size_t size() const override { return rows_.size(); }

 private:
  std::vector<float> sides_of(std::span<const float> vector) const {
    std::vector<float> sides(planes_.count());
    planes_.project(vector, sides);
    return sides;
  }

  std::uint32_t bucket_of(std::span<const float> sides, std::size_t t) const {
    std::uint32_t bucket = 0;
    for (std::size_t bit = 0; bit < settings_.bits; ++bit) {
      bucket |= std::uint32_t{sides[t * settings_.bits + bit] >= 0} << bit;
    }
    return bucket;
  }

  /// The vector's own bucket in a table, then the next nearest ones.
  std::vector<std::uint32_t> buckets_near(std::span<const float> sides, std::size_t t) const {
    std::span<const float> own = sides.subspan(t * settings_.bits, settings_.bits);
    std::vector<std::uint32_t> order(settings_.bits);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t bit) { return own[bit] * own[bit]; });
    auto cost = [&](std::size_t place) { return own[order[place]] * own[order[place]]; };
    std::uint32_t bucket = bucket_of(sides, t);
    std::vector<std::uint32_t> buckets{bucket};
    std::priority_queue<flip, std::vector<flip>, std::greater<>> flips;
    flips.push({cost(0), 1, 0});
    while (buckets.size() < settings_.probes && !flips.empty()) {
      flip now = flips.top();
      flips.pop();
      std::uint32_t flipped = bucket;
      for (std::size_t place = 0; place < settings_.bits; ++place) {
        flipped ^= ((now.places >> place) & 1) << order[place];
      }
      buckets.push_back(flipped);
      std::size_t next = now.last + 1;
      if (next < settings_.bits) {
        std::uint32_t added = now.places | std::uint32_t{1} << next;
        std::uint32_t shifted = added ^ std::uint32_t{1} << now.last;
        flips.push({now.cost + cost(next) - cost(now.last), shifted, next});
        flips.push({now.cost + cost(next), added, next});
      }
    }
    return buckets;
  }

  using bucket_map = absl::flat_hash_map<std::uint32_t, std::vector<std::uint32_t>>;

  lsh_settings settings_;
  hyperplanes planes_;
  vector_rows rows_;
  std::vector<bucket_map> tables_;  // only looked up, never walked
  absl::flat_hash_map<std::uint32_t, std::uint32_t> places_;
};

}  // namespace

std::unique_ptr<vector_index> make_lsh_index(const index_settings& settings, std::size_t width) {
  return std::make_unique<lsh_index>(settings, width);
}

}  // namespace refrain
