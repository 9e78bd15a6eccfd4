// Who holds which block: against sets kept plainly.
#include "actors/key_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "traces/random.hpp"

namespace refrain {
namespace {

TEST(key_view, forgets_a_key_when_its_last_holder_drops_it) {
  key_view view{3};
  view.apply(0, std::vector<key_change>{{block_key{7}, true}, {block_key{8}, true}});
  view.apply(2, std::vector<key_change>{{block_key{7}, true}});
  EXPECT_EQ(view.size(), 2u);
  view.apply(0, std::vector<key_change>{{block_key{7}, false}, {block_key{8}, false}});
  EXPECT_EQ(view.size(), 1u);
  view.apply(2, std::vector<key_change>{{block_key{7}, false}, {block_key{7}, false}});
  EXPECT_EQ(view.size(), 0u);
}

TEST(key_view, counts_no_block_behind_a_gap) {
  key_view view{2};
  view.apply(0, std::vector<key_change>{{block_key{1}, true}, {block_key{3}, true}});
  view.apply(1, std::vector<key_change>{{block_key{2}, true}, {block_key{3}, true}});
  std::vector<block_key> chain{block_key{1}, block_key{2}, block_key{3}};
  std::vector<std::int64_t> runs(2);
  view.leading_runs(chain, runs);
  EXPECT_EQ(runs, (std::vector<std::int64_t>{1, 0}));
}

// Groups of 64 executors: one, a full one, and several with a rest.
TEST(key_view, gives_the_runs_that_sets_give_for_any_number_of_executors) {
  for (std::size_t executors : {1, 5, 64, 65, 150}) {
    SCOPED_TRACE(executors);
    random_stream draws{executors, "key view"};
    key_view view{executors};
    std::vector<std::set<std::uint64_t>> held(executors);
    for (int round = 0; round < 400; ++round) {
      std::size_t who = draws.below(executors);
      std::vector<key_change> changes;
      for (int i = 0; i < 6; ++i) {
        key_change change{block_key{draws.below(12)}, draws.below(3) > 0};
        changes.push_back(change);
        change.findable ? void(held[who].insert(change.key)) : void(held[who].erase(change.key));
      }
      view.apply(who, changes);
      std::vector<block_key> chain;
      for (std::uint64_t i = draws.below(12); i < 12; ++i) {
        chain.push_back(block_key{i});
      }
      std::vector<std::int64_t> runs(executors, -1);
      view.leading_runs(chain, runs);
      for (std::size_t e = 0; e < executors; ++e) {
        auto first_gap =
            std::ranges::find_if(chain, [&](block_key key) { return !held[e].contains(key); });
        ASSERT_EQ(runs[e], first_gap - chain.begin()) << "executor " << e;
      }
    }
  }
}

}  // namespace
}  // namespace refrain
