// Ghost lists against two plain lists, under random pushes, returns and droppings.
#include "policies/ghost_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "traces/random.hpp"

namespace refrain {
namespace {

struct ghost {
  std::uint64_t key;
  std::uint32_t size;
};

class plain_ghosts {
 public:
  std::uint32_t take(std::uint64_t key) {
    for (std::uint32_t list : {0u, 1u}) {
      auto at = std::find_if(lists[list].begin(), lists[list].end(),
                             [&](const ghost& g) { return g.key == key; });
      if (at != lists[list].end()) {
        lists[list].erase(at);
        return list;
      }
    }
    return ghost_list::none;
  }
  std::int64_t units(std::uint32_t list) const {
    std::int64_t sum = 0;
    for (const ghost& g : lists[list]) {
      sum += g.size;
    }
    return sum;
  }
  std::deque<ghost> lists[2];
};

void compare(std::uint32_t most, std::uint32_t spare, bool mixed, std::uint64_t seed) {
  random_stream random{seed, "ghosts"};
  ghost_list ours{most, spare};
  plain_ghosts plain;
  for (int step = 0; step < 3'000; ++step) {
    std::uint64_t key = random.below(most * 3 + 1);
    auto list = static_cast<std::uint32_t>(random.below(2));
    if (random.below(3) > 0) {
      ASSERT_EQ(ours.take(block_key{key}), plain.take(key));
      if (ours.full()) {
        std::uint32_t from = plain.lists[list].empty() ? 1 - list : list;
        ours.drop_oldest(from);
        plain.lists[from].pop_front();
      }
      auto size = static_cast<std::uint32_t>(mixed ? 1 + random.below(9) : 1);
      ours.push(list, block_key{key}, size);
      plain.lists[list].push_back({key, size});
    } else {
      ASSERT_EQ(ours.take(block_key{key}), plain.take(key));
      ASSERT_EQ(ours.find(block_key{key}), ghost_list::none);
    }
    for (std::uint32_t l : {0u, 1u}) {
      ASSERT_EQ(ours.count(l), plain.lists[l].size());
      ASSERT_EQ(ours.units(l), plain.units(l));
    }
  }
}

TEST(ghosts, are_what_two_plain_lists_hold_however_few_places_are_spare) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    for (std::uint32_t most : {1u, 2u, 3u, 17u, 64u}) {
      compare(most, static_cast<std::uint32_t>(seed % 4) * most / 3, seed % 2 == 0, seed);
    }
  }
}

TEST(ghosts, tell_where_they_stand_whenever_that_changes) {
  for (std::uint32_t spare : {0u, 3u}) {
    random_stream random{spare, "ghosts"};
    ghost_list ghosts{16, spare};
    std::map<std::uint64_t, std::uint32_t> places;
    int moves = 0;
    for (int step = 0; step < 2'000; ++step) {
      std::uint64_t key = random.below(40);
      if (auto known = places.find(key); known != places.end()) {
        ghosts.drop(known->second);
        places.erase(known);
        continue;
      }
      if (ghosts.full()) {
        std::uint32_t oldest = ghosts.oldest(0);
        std::erase_if(places, [&](const auto& each) { return each.second == oldest; });
        ghosts.drop(oldest);
      }
      std::uint32_t place =
          ghosts.push(0, block_key{key}, 1, [&](std::uint32_t from, std::uint32_t to) {
            ++moves;
            for (auto& [_, at] : places) {
              at = at == from ? to : at;
            }
          });
      places[key] = place;
      ASSERT_EQ(ghosts.count(0), places.size());
      for (const auto& [each, at] : places) {
        ASSERT_LT(at, ghosts.places());
        ASSERT_EQ(ghosts.place_with(block_key{each}), at);
      }
    }
    EXPECT_GT(moves, 0);
  }
}

TEST(ghosts, drop_the_oldest_of_their_own_list) {
  ghost_list ghosts{4, 0};
  ghosts.push(0, block_key{1}, 1);
  ghosts.push(1, block_key{2}, 1);
  ghosts.push(0, block_key{3}, 1);
  ghosts.push(1, block_key{4}, 1);
  ghosts.drop_oldest(1);
  EXPECT_EQ(ghosts.find(block_key{2}), ghost_list::none);
  EXPECT_EQ(ghosts.find(block_key{1}), 0u);
  ghosts.drop_oldest(1);
  EXPECT_EQ(ghosts.find(block_key{4}), ghost_list::none);
  EXPECT_EQ(ghosts.count(0), 2u);
}

}  // namespace
}  // namespace refrain
