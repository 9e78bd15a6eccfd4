// Eviction policies against plain versions of themselves that keep lists and search through them:
// equal hits on traces and capacities chosen here.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "tests/policies/columns.hpp"

namespace refrain {
namespace {

using testing::chain_columns;
using testing::object_columns;

std::uint32_t size_at(const access_columns& columns, std::size_t i) {
  return columns.sizes.empty() ? 1 : columns.sizes[i];
}

// A list of keys with sizes, oldest first.
struct plain_queue {
  std::list<std::pair<block_key, std::uint32_t>> all;
  std::int64_t units = 0;

  bool has(block_key key) const {
    return std::any_of(all.begin(), all.end(), [&](auto& e) { return e.first == key; });
  }
  void push(block_key key, std::uint32_t size) {
    all.emplace_back(key, size);
    units += size;
  }
  bool take(block_key key) {
    for (auto at = all.begin(); at != all.end(); ++at) {
      if (at->first == key) {
        units -= at->second;
        all.erase(at);
        return true;
      }
    }
    return false;
  }
  std::pair<block_key, std::uint32_t> pop() {
    auto oldest = all.front();
    take(oldest.first);
    return oldest;
  }
};

std::uint64_t plain_two_q(const access_columns& columns, std::int64_t capacity) {
  std::int64_t in_share = capacity / 4;
  std::int64_t out_share = capacity / 2;
  plain_queue in, out, often;
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < columns.keys.size(); ++i) {
    block_key key = columns.keys[i];
    std::uint32_t size = size_at(columns, i);
    if (in.has(key)) {
      ++hits;
      continue;
    }
    bool ghost = out.take(key);
    if (often.take(key)) {
      often.push(key, size);
      ++hits;
      continue;
    }
    if (size > in_share) {
      continue;
    }
    while (in.units + often.units + size > capacity) {
      if (in.units > in_share) {
        auto [gone, gone_size] = in.pop();
        if (gone_size <= out_share) {
          while (out.units + gone_size > out_share) {
            out.pop();
          }
          out.push(gone, gone_size);
        }
      } else {
        often.pop();
      }
    }
    if (ghost) {
      while (often.units + size > capacity - in_share) {
        often.pop();
      }
      often.push(key, size);
    } else {
      in.push(key, size);
    }
  }
  return hits;
}

struct plain_object {
  double key = 0;
  double count = 0;
  std::uint64_t last = 0;
};

std::uint64_t plain_lfu_da(const access_columns& columns, std::int64_t capacity,
                           const std::string& aging, bool kept) {
  std::map<block_key, plain_object> cache;
  std::map<block_key, double> past;
  double age = 0;
  std::uint64_t hits = 0;
  auto less = [](const auto& a, const auto& b) {
    return std::pair{a.second.key, a.second.last} < std::pair{b.second.key, b.second.last};
  };
  for (std::size_t i = 0; i < columns.keys.size(); ++i) {
    auto found = cache.find(columns.keys[i]);
    if (found != cache.end()) {
      plain_object& o = found->second;
      ++hits;
      o.count += 1;
      if (aging == "uses") {
        o.key = age + o.count;
      } else if (aging == "newcomers") {
        o.key += 1;
      } else if (age > 0) {
        o.key += std::min_element(cache.begin(), cache.end(), less)->second.key;
      }
      o.last = i;
      continue;
    }
    if (static_cast<std::int64_t>(cache.size()) == capacity) {
      auto gone = std::min_element(cache.begin(), cache.end(), less);
      age = std::max(age, gone->second.key);
      past[gone->first] = gone->second.count;
      cache.erase(gone);
    }
    double count = 1 + (kept ? past[columns.keys[i]] : 0);
    if (aging == "libcachesim" && age > 0 && !cache.empty()) {
      age = std::max(age, std::min_element(cache.begin(), cache.end(), less)->second.key);
    }
    cache[columns.keys[i]] = {age + count, count, i};
  }
  return hits;
}

// A tree of blocks for policies of leaf scope: hits go up, what is missing goes in from the top as
// long as something gives way.
class plain_tree {
 public:
  explicit plain_tree(std::int64_t capacity, bool kept) : capacity_{capacity}, kept_{kept} {}

  std::uint64_t pgdsf(const access_columns& columns) {
    std::uint64_t hits = 0;
    for (std::uint64_t r = 0; r < columns.requests(); ++r) {
      std::vector<block_key> chain(
          columns.keys.begin() + static_cast<std::ptrdiff_t>(columns.starts[r]),
          columns.keys.begin() + static_cast<std::ptrdiff_t>(columns.starts[r + 1]));
      std::size_t first = 0;
      while (first < chain.size() && nodes_[chain[first]].resident) {
        node& n = nodes_[chain[first++]];
        n.uses += 1;
        n.priority = inflation_ + n.uses * n.cost_sum / n.computed;
      }
      hits += first;
      double cost = 0;
      for (std::size_t d = first; d < chain.size(); ++d) {
        cost += (1 + static_cast<double>(d) / 64) / static_cast<double>(chain.size() - first);
      }
      std::size_t end = first;
      for (; end < chain.size() && make_room(chain); ++end) {
        store(chain, end, cost);
      }
      for (std::size_t d = end; d-- > 0;) {
        node& n = nodes_[chain[d]];
        n.priority = inflation_ + n.uses * n.cost_sum / n.computed;
        n.last = ++clock_;
      }
    }
    return hits;
  }

 private:
  struct node {
    bool resident = false;
    double uses = 0, computed = 0, cost_sum = 0, priority = 0;
    std::uint64_t last = 0;
    int children = 0;
    block_key parent;
    bool has_parent = false;
  };

  void store(const std::vector<block_key>& chain, std::size_t d, double cost) {
    node& n = nodes_[chain[d]];
    n.resident = true;
    n.uses += 1;
    n.computed += 1;
    n.cost_sum += cost;
    n.has_parent = d > 0;
    if (d > 0) {
      n.parent = chain[d - 1];
      ++nodes_[n.parent].children;
    }
    ++resident_;
  }

  bool make_room(const std::vector<block_key>& running) {
    if (resident_ < capacity_) {
      return true;
    }
    node* gone = nullptr;
    for (auto& [key, n] : nodes_) {
      bool runs = std::find(running.begin(), running.end(), key) != running.end();
      if (n.resident && n.children == 0 && !runs &&
          (gone == nullptr ||
           std::pair{n.priority, n.last} < std::pair{gone->priority, gone->last})) {
        gone = &n;
      }
    }
    if (gone == nullptr) {
      return false;
    }
    inflation_ = std::max(inflation_, gone->priority);
    if (gone->has_parent) {
      --nodes_[gone->parent].children;
    }
    gone->resident = false;
    if (!kept_) {
      gone->uses = gone->computed = gone->cost_sum = 0;
    }
    --resident_;
    return true;
  }

  std::int64_t capacity_;
  bool kept_;
  std::int64_t resident_ = 0;
  std::map<block_key, node> nodes_;
  double inflation_ = 0;
  std::uint64_t clock_ = 0;
};

TEST(plain_replay, two_q_equals_three_lists) {
  for (std::int64_t capacity : {4, 9, 40, 200}) {
    for (std::uint32_t most_size : {1u, 6u}) {
      SCOPED_TRACE(std::to_string(capacity) + " sizes to " + std::to_string(most_size));
      access_columns columns = object_columns(6'000, 400, most_size, 3);
      EXPECT_EQ(replay(columns, "two_q", {}, capacity, replay_rule::flat, "test").hits,
                plain_two_q(columns, capacity));
    }
  }
}

TEST(plain_replay, lfu_da_equals_a_search_for_the_least_key) {
  access_columns columns = object_columns(4'000, 300, 1, 5);
  for (const char* aging : {"uses", "newcomers", "libcachesim"}) {
    for (bool kept : {false, true}) {
      for (std::int64_t capacity : {1, 2, 30, 100}) {
        SCOPED_TRACE(std::string{aging} + (kept ? " kept " : " ") + std::to_string(capacity));
        given_parameters given = {{"aging", aging}, {"history", kept ? "kept" : "forgotten"}};
        EXPECT_EQ(replay(columns, "lfu_da", given, capacity, replay_rule::flat, "test").hits,
                  plain_lfu_da(columns, capacity, aging, kept));
      }
    }
  }
}

TEST(plain_replay, lfu_da_that_ages_with_every_use_is_gdsf_where_sizes_are_one) {
  access_columns columns = object_columns(20'000, 900, 1, 6);
  for (std::int64_t capacity : {7, 100, 500}) {
    EXPECT_EQ(replay(columns, "lfu_da", {}, capacity, replay_rule::flat, "test").hits,
              replay(columns, "gdsf", {}, capacity, replay_rule::flat, "test").hits);
  }
}

TEST(plain_replay, pgdsf_equals_a_search_for_the_least_leaf) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    access_columns columns = chain_columns(500, seed);
    for (bool kept : {false, true}) {
      for (std::int64_t capacity : {3, 20, 60, 150}) {
        SCOPED_TRACE(std::to_string(seed) + (kept ? " kept " : " ") + std::to_string(capacity));
        given_parameters given = {{"history", kept ? "kept" : "forgotten"}};
        EXPECT_EQ(replay(columns, "pgdsf", given, capacity, replay_rule::prefix, "test").hits,
                  (plain_tree{capacity, kept}.pgdsf(columns)));
      }
    }
  }
}

}  // namespace
}  // namespace refrain
