// The block pool's rules one by one, and all of them together against a naive model.
#include "gpu/block_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr request_id alice{1};
constexpr request_id bob{2};

TEST(block_pool, gives_each_block_once) {
  block_pool pool{3};
  EXPECT_EQ(pool.available(), 3);
  std::set<std::uint32_t> given{pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(given, (std::set<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(pool.available(), 0);
  EXPECT_EQ(pool.capacity(), 3);
}

TEST(block_pool, prefers_worthless_blocks_to_left_ones) {
  block_pool pool{4};
  block_id first = pool.take();
  block_id second = pool.take();
  block_id third = pool.take();
  pool.leave(first, alice, 0);
  pool.put_back(second);
  EXPECT_EQ(pool.available(), 3);
  EXPECT_EQ(pool.take(), second);
  EXPECT_EQ(pool.take(), block_id{3});
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.available(), 0);
  EXPECT_NE(third, first);
}

TEST(block_pool, reallocates_the_block_left_first) {
  block_pool pool{3};
  block_id blocks[] = {pool.take(), pool.take(), pool.take()};
  pool.leave(blocks[2], alice, 2);
  pool.leave(blocks[0], alice, 0);
  pool.leave(blocks[1], alice, 1);
  EXPECT_EQ(pool.left(), 3);
  EXPECT_EQ(pool.take(), blocks[2]);
  EXPECT_FALSE(pool.reclaim(blocks[2], alice, 2));
  EXPECT_TRUE(pool.reclaim(blocks[0], alice, 0));
  EXPECT_EQ(pool.take(), blocks[1]);
  EXPECT_EQ(pool.left(), 0);
}

TEST(block_pool, gives_a_left_block_back_to_its_owner_only) {
  block_pool pool{2};
  block_id block = pool.take();
  EXPECT_FALSE(pool.reclaim(block, alice, 0));
  pool.leave(block, alice, 7);
  EXPECT_FALSE(pool.reclaim(block, bob, 7));
  EXPECT_FALSE(pool.reclaim(block, alice, 8));
  EXPECT_EQ(pool.available(), 2);
  EXPECT_TRUE(pool.reclaim(block, alice, 7));
  EXPECT_FALSE(pool.reclaim(block, alice, 7));
  EXPECT_EQ(pool.available(), 1);
}

TEST(block_pool, forgets_a_block_that_was_taken_and_left_by_another) {
  block_pool pool{1};
  block_id block = pool.take();
  pool.leave(block, alice, 0);
  EXPECT_EQ(pool.take(), block);
  pool.leave(block, bob, 0);
  EXPECT_FALSE(pool.reclaim(block, alice, 0));
  EXPECT_TRUE(pool.reclaim(block, bob, 0));
}

TEST(block_pool, costs_nothing_for_blocks_never_used) {
  block_pool pool{1'000'000'000'000};
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pool.take(), block_id{i});
  }
  EXPECT_EQ(pool.available(), 999'999'999'900);
}

TEST(block_pool, stops_at_a_block_that_is_not_in_use) {
  EXPECT_DEATH(block_pool{0}.take(), "available");
  block_pool pool{2};
  block_id block = pool.take();
  EXPECT_DEATH(pool.put_back(block_id{1}), "records_.size");
  EXPECT_DEATH(static_cast<void>(pool.reclaim(block_id{1}, alice, 0)), "records_.size");
  pool.put_back(block);
  EXPECT_DEATH(pool.put_back(block), "in_use");
  EXPECT_DEATH(pool.leave(block, alice, 0), "in_use");
  block_id again = pool.take();
  pool.leave(again, alice, 0);
  EXPECT_DEATH(pool.put_back(again), "in_use");
  EXPECT_DEATH(pool.leave(again, alice, 0), "in_use");
}

// What the pool promises, in the plainest containers.
class naive_pool {
 public:
  struct left_block {
    std::uint32_t block;
    request_id owner;
    std::uint32_t index;
  };

  explicit naive_pool(std::int64_t blocks) : capacity_{blocks} {}

  std::int64_t available() const { return capacity_ - static_cast<std::int64_t>(in_use.size()); }
  // Whether the pool may hand this block out now; if so, it is in use.
  bool accept(std::uint32_t block) {
    bool never_used = static_cast<std::int64_t>(seen_.size()) < capacity_;
    if (worthless_.erase(block) == 0) {
      if (!seen_.contains(block)) {
        if (!never_used) {
          return false;
        }
      } else if (!worthless_.empty() || never_used || left.empty() || left.front().block != block) {
        return false;
      } else {
        left.pop_front();
      }
    }
    seen_.insert(block);
    return in_use.insert(block).second;
  }
  void put_back(std::uint32_t block) {
    in_use.erase(block);
    worthless_.insert(block);
  }
  void leave(left_block block) {
    in_use.erase(block.block);
    left.push_back(block);
  }
  bool reclaim(left_block wanted) {
    auto found = std::find_if(left.begin(), left.end(), [&](const left_block& each) {
      return each.block == wanted.block && each.owner == wanted.owner && each.index == wanted.index;
    });
    if (found == left.end()) {
      return false;
    }
    left.erase(found);
    in_use.insert(wanted.block);
    return true;
  }

  std::set<std::uint32_t> in_use;
  std::deque<left_block> left;  // oldest first

 private:
  std::int64_t capacity_;
  std::set<std::uint32_t> worthless_;
  std::set<std::uint32_t> seen_;
};

std::uint32_t any_of(const std::set<std::uint32_t>& blocks, random_stream& random) {
  auto chosen = blocks.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(blocks.size())));
  return *chosen;
}

// One random operation on both; `handles` are all blocks ever left, most of them stale.
void step(block_pool& pool, naive_pool& naive, std::vector<naive_pool::left_block>& handles,
          random_stream& random) {
  std::uint64_t choice = random.below(10);
  if (choice < 4 && naive.available() > 0) {
    ASSERT_TRUE(naive.accept(pool.take()));
  } else if (choice < 6 && !naive.in_use.empty()) {
    std::uint32_t block = any_of(naive.in_use, random);
    pool.put_back(block_id{block});
    naive.put_back(block);
  } else if (choice < 8 && !naive.in_use.empty()) {
    naive_pool::left_block block{any_of(naive.in_use, random), request_id{random.below(3)},
                                 static_cast<std::uint32_t>(random.below(3))};
    pool.leave(block_id{block.block}, block.owner, block.index);
    naive.leave(block);
    handles.push_back(block);
  } else if (!handles.empty()) {
    naive_pool::left_block wanted = handles[random.below(handles.size())];
    ASSERT_EQ(pool.reclaim(block_id{wanted.block}, wanted.owner, wanted.index),
              naive.reclaim(wanted));
  }
  ASSERT_EQ(pool.available(), naive.available());
  ASSERT_EQ(pool.left(), static_cast<std::int64_t>(naive.left.size()));
}

TEST(block_pool, does_what_a_naive_pool_does_under_random_operations) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_stream random{seed, "block pool"};
    auto blocks = static_cast<std::int64_t>(random.below(30));
    block_pool pool{blocks};
    naive_pool naive{blocks};
    std::vector<naive_pool::left_block> handles;
    for (int i = 0; i < 2000; ++i) {
      ASSERT_NO_FATAL_FAILURE(step(pool, naive, handles, random)) << "operation " << i;
    }
  }
}

}  // namespace
}  // namespace refrain
