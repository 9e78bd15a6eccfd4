// FIFO, SIEVE and S3-FIFO with pins against plain versions of themselves that search through all
// their blocks: a pinned block is no victim and keeps its place.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "policies/cache.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

struct block {
  slot_id slot;
  std::uint32_t size;
  std::uint64_t key = 0;
  int number = 0;  // of arrival in its queue
  int hits = 0;
  bool pinned = false;
  bool passed = false;  // the hand met it while it was pinned
};

// What a plain policy must do; blocks are kept in any order.
class plain_policy {
 public:
  virtual ~plain_policy() = default;
  virtual bool admits(std::uint64_t, std::uint32_t) { return true; }
  virtual bool keeps(std::uint32_t) { return true; }
  virtual void insert(block b) { add(std::move(b)); }
  virtual slot_id evict() = 0;
  virtual void unpin(block& b) { b.pinned = false; }

  block& at(slot_id slot) {
    return *std::find_if(blocks.begin(), blocks.end(), [&](auto& b) { return b.slot == slot; });
  }

 protected:
  void add(block b) {
    b.number = ++clock;
    blocks.push_back(b);
  }
  void remove(slot_id slot) {
    std::erase_if(blocks, [&](const block& b) { return b.slot == slot; });
  }
  std::vector<block> blocks;
  int clock = 0;
};

class plain_fifo : public plain_policy {
 public:
  slot_id evict() override {
    for (const block& b : blocks) {
      if (!b.pinned) {
        slot_id slot = b.slot;
        remove(slot);
        return slot;
      }
    }
    return no_slot;
  }
};

class plain_sieve : public plain_policy {
 public:
  void insert(block b) override {
    if (next() == nullptr) {
      hand = 0;
    }
    add(b);
  }
  slot_id evict() override {
    for (;;) {
      block* b = next();
      if (b == nullptr) {
        hand = 0;
      } else if (b->pinned) {
        b->passed = true;
      } else {
        hand = b->number;
        if (b->hits == 0) {
          slot_id slot = b->slot;
          remove(slot);
          return slot;
        }
        b->hits = 0;
      }
    }
  }
  void unpin(block& b) override { b.pinned = b.passed = false; }

 private:
  block* next() {
    for (block& b : blocks) {
      if (b.number > hand && !b.passed) {
        return &b;
      }
    }
    return nullptr;
  }
  int hand = 0;
};

class plain_s3fifo : public plain_policy {
 public:
  explicit plain_s3fifo(std::int64_t c)
      : small_share{c / 10}, main_share{c - c / 10}, ghost_share{c * 9 / 10} {}

  bool admits(std::uint64_t key, std::uint32_t size) override {
    returned = std::erase_if(ghosts, [&](const block& g) { return g.key == key; }) > 0;
    return returned || size <= small_share;
  }
  bool keeps(std::uint32_t size) override { return returned || size < small_share; }
  void insert(block b) override {
    b.passed = returned;  // here: it is in main
    add(b);
  }
  slot_id evict() override {
    for (;;) {
      block* b = oldest(false);
      bool from_main = (b == nullptr || main_units() > main_share) && oldest(true) != nullptr;
      while ((b = oldest(from_main)) != nullptr) {
        if (from_main && b->hits > 0) {
          again(*b, std::min(b->hits, 3) - 1);
        } else if (!from_main && b->hits >= 2) {
          b->passed = true;
          again(*b, 0);
        } else {
          return leave(*b);
        }
      }
    }
  }

 private:
  block* oldest(bool in_main) {
    block* found = nullptr;
    for (block& b : blocks) {
      if (b.passed == in_main && !b.pinned && (found == nullptr || b.number < found->number)) {
        found = &b;
      }
    }
    return found;
  }
  std::int64_t main_units() const {
    std::int64_t sum = 0;
    for (const block& b : blocks) {
      sum += b.passed ? b.size : 0;
    }
    return sum;
  }
  void again(block& b, int hits) {
    b.hits = hits;
    b.number = ++clock;
  }
  slot_id leave(const block& b) {
    slot_id slot = b.slot;
    if (!b.passed) {
      ghosts.push_back(b);
      std::int64_t units = 0;
      for (const block& g : ghosts) {
        units += g.size;
      }
      for (; units > ghost_share; ghosts.pop_front()) {
        units -= ghosts.front().size;
      }
    }
    remove(slot);
    return slot;
  }

  std::int64_t small_share, main_share, ghost_share;
  std::deque<block> ghosts;
  bool returned = false;
};

// Accesses, pins and unpins at random; both must name the same victims.
void compare(const char* name, plain_policy& plain, std::int64_t capacity, std::uint32_t most_size,
             std::uint64_t seed) {
  random_stream random{seed, name};
  const auto& entry = registry<eviction_entry>::find(name, "test");
  auto slots = static_cast<std::uint32_t>(capacity);
  auto policy =
      entry.make({entry.info.parameters, {}, "test"}, {.slots = slots, .capacity = capacity});
  cache<eviction> ours{*policy, capacity, slots};
  std::vector<slot_id> pinned;
  std::uint64_t evictions = 0;
  for (int step = 0; step < 6'000; ++step) {
    if (!pinned.empty() && random.below(3) == 0) {
      std::size_t which = random.below(pinned.size());
      if (ours.unpin(pinned[which])) {
        plain.unpin(plain.at(pinned[which]));
      }
      pinned.erase(pinned.begin() + static_cast<std::ptrdiff_t>(which));
    }
    std::uint64_t key = random.below(random.below(slots * 3) + 1);
    auto size = static_cast<std::uint32_t>(1 + mix64(key) % most_size);
    slot_id slot = ours.find(block_key{key});
    entry_view seen{.key = block_key{key}, .size = size};
    if (slot != no_slot) {
      policy->on_hit(slot, seen);
      ++plain.at(slot).hits;
    } else {
      bool admitted = policy->on_miss(seen);
      ASSERT_EQ(admitted, plain.admits(key, size));
      while (admitted && !ours.fits(size) && ours.unpinned() > 0) {
        slot_id gone = ours.evict();
        ASSERT_EQ(gone, plain.evict()) << "step " << step;
        ++evictions;
      }
      if (!admitted || !ours.fits(size)) {
        continue;
      }
      ASSERT_EQ(policy->on_room(seen), plain.keeps(size));
      if (!plain.keeps(size)) {
        continue;
      }
      slot = ours.insert(seen);
      plain.insert({.slot = slot, .size = size, .key = key});
    }
    if (random.below(2) == 0) {
      ours.pin(slot);
      plain.at(slot).pinned = true;
      pinned.push_back(slot);
    }
  }
  EXPECT_GT(evictions, 100u);
}

TEST(queues_with_pins, fifo_equals_a_search_for_the_oldest_unpinned_block) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    plain_fifo plain;
    compare("fifo", plain, 5 + static_cast<std::int64_t>(seed) * 9, 1, seed);
  }
}

TEST(queues_with_pins, sieve_equals_a_hand_that_searches_the_whole_queue) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    plain_sieve plain;
    compare("sieve", plain, 5 + static_cast<std::int64_t>(seed) * 9, 1, seed);
  }
}

TEST(queues_with_pins, s3fifo_equals_two_plain_queues_and_a_list_of_ghosts) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    std::int64_t capacity = 20 + static_cast<std::int64_t>(seed) * 9;
    plain_s3fifo plain{capacity};
    compare("s3fifo", plain, capacity, 1, seed);
  }
}

TEST(queues_with_pins, s3fifo_counts_sizes_in_every_queue) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    std::int64_t capacity = 60 + static_cast<std::int64_t>(seed) * 10;
    plain_s3fifo plain{capacity};
    compare("s3fifo", plain, capacity, 6, seed);
  }
}

}  // namespace
}  // namespace refrain
