// The map of keys to slots against std::unordered_map, crowded and with keys that collide.
#include "policies/key_map.hpp"

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "policies/frequency_sketch.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

void compare(std::size_t made_for, std::size_t most, std::uint64_t range, std::uint64_t seed) {
  random_stream random{seed, "key map"};
  key_map ours{made_for};
  std::unordered_map<std::uint64_t, std::uint32_t> plain;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    // Small numbers, and numbers that differ in their high half only.
    std::uint64_t drawn = random.below(range);
    block_key key{drawn % 2 == 0 ? drawn : drawn << 32};
    auto known = plain.find(key);
    ASSERT_EQ(ours.find(key), known == plain.end() ? no_slot : slot_id{known->second});
    if (known != plain.end()) {
      if (random.below(2) == 0) {
        ASSERT_EQ(ours.key_of(slot_id{known->second}), key);
        ours.erase(slot_id{known->second});
        plain.erase(known);
      }
    } else if (plain.size() < most) {
      ours.insert(key, slot_id{step});
      plain.emplace(key, step);
    }
    ASSERT_EQ(ours.size(), plain.size());
  }
  for (const auto& [key, slot] : plain) {
    ASSERT_EQ(ours.find(block_key{key}), slot_id{slot});
  }
}

TEST(key_map, finds_what_an_unordered_map_finds) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    compare(1, 1, 3, seed);
    compare(7, 7, 20, seed);
    compare(500, 500, 1'000, seed);
    compare(1'000, 1'000, 100'000, seed);
  }
}

TEST(key_map, grows_beyond_what_it_was_made_for) {
  compare(0, 5'000, 10'000, 1);
}

TEST(frequency_sketch, never_counts_less_than_there_was_until_it_halves) {
  frequency_sketch sketch{100, 1'000'000};
  std::vector<std::uint32_t> counts(100);
  random_stream random{1, "sketch"};
  for (int i = 0; i < 5'000; ++i) {
    std::uint64_t key = random.below(random.below(100) + 1);
    sketch.add(block_key{key});
    ++counts[key];
  }
  for (std::uint64_t key = 0; key < 100; ++key) {
    EXPECT_GE(sketch.count(block_key{key}), std::min(counts[key], 255u));
  }
  EXPECT_EQ(sketch.count(block_key{1'000'003}), 0u);
}

TEST(frequency_sketch, halves_after_its_sample) {
  frequency_sketch sketch{10, 8};
  for (int i = 0; i < 8; ++i) {
    sketch.add(block_key{1});
  }
  EXPECT_EQ(sketch.count(block_key{1}), 4u);
}

}  // namespace
}  // namespace refrain
