// The ranking against a search through all its slots, under random touches, pins and chains.
#include "policies/ranking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "traces/random.hpp"

namespace refrain {
namespace {

struct plain_slot {
  double value;
  int touched;
  slot_id parent;
  int children = 0;
  bool pinned = false;
};

class plain_ranking {
 public:
  explicit plain_ranking(std::uint32_t slots) : all(slots) {}

  slot_id least() const {
    slot_id best = no_slot;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (!all[i] || all[i]->pinned || all[i]->children > 0) {
        continue;
      }
      if (best == no_slot || std::pair{all[i]->value, all[i]->touched} <
                                 std::pair{all[best]->value, all[best]->touched}) {
        best = slot_id{i};
      }
    }
    return best;
  }
  std::vector<std::optional<plain_slot>> all;
};

void compare(bool leaf, std::uint64_t seed) {
  constexpr std::uint32_t slots = 24;
  random_stream random{seed, "ranking"};
  ranking<double> ours{slots, leaf};
  plain_ranking plain{slots};
  for (int step = 0; step < 4'000; ++step) {
    slot_id slot{static_cast<std::uint32_t>(random.below(slots))};
    auto value = static_cast<double>(random.below(5));
    auto& known = plain.all[slot];
    std::uint64_t what = random.below(4);
    if (!known) {
      slot_id parent{static_cast<std::uint32_t>(random.below(slots))};
      parent = leaf && plain.all[parent] ? parent : no_slot;
      known = plain_slot{value, step, parent};
      if (parent != no_slot) {
        ++plain.all[parent]->children;
      }
      ours.add(slot, value, parent);
    } else if (what == 0 && !known->pinned) {
      known->pinned = true;
      ours.pin(slot);
    } else if (what == 0 || (what == 1 && known->pinned)) {
      known->pinned = false;
      ours.unpin(slot);
    } else if (what == 2) {
      known->value = value;
      known->touched = step;
      ours.touch(slot, value);
    } else if (slot_id gone = ours.least(); gone != no_slot) {
      if (slot_id parent = plain.all[gone]->parent; parent != no_slot) {
        --plain.all[parent]->children;
      }
      plain.all[gone].reset();
      ours.remove(gone);
    }
    ASSERT_EQ(ours.least(), plain.least()) << "step " << step;
    if (known) {
      ASSERT_EQ(ours.value(slot), known->value);
    }
  }
}

TEST(rank, is_the_least_unpinned_value_and_among_equals_the_one_touched_longest_ago) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    compare(false, seed);
  }
}

TEST(rank, passes_over_slots_with_children_under_leaf_scope) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    compare(true, seed);
  }
}

}  // namespace
}  // namespace refrain
