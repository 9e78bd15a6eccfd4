#include "gpu/kv_rotation.hpp"

#include "gpu/cpu/decoder.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "kv_support.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

/// Ways in which models rotate, and stores hold keys.
struct way {
  kv_type type;
  bool adjacent_pairs;
  std::int64_t rotary_size;
  std::vector<float> divisors;
};

class kv_rotations : public testing::TestWithParam<way> {
 protected:
  static constexpr std::int64_t block_tokens = 4, head_size = 10;

  kv_rotations() {
    weights_.shape.layers = 2;
    weights_.shape.kv_heads = 2;
    weights_.shape.head_size = head_size;
    weights_.shape.rotary_size = GetParam().rotary_size;
    weights_.shape.rotary_base = 500;
    weights_.shape.adjacent_pairs = GetParam().adjacent_pairs;
    weights_.rotary_divisors = GetParam().divisors;
  }

  /// The definition in double, from keys without a position.
  std::vector<double> rotated(std::vector<double> key, std::int64_t position) const {
    const std::int64_t size = GetParam().rotary_size;
    for (std::int64_t i = 0; i < size / 2; ++i) {
      double angle = static_cast<double>(position) /
                     std::pow(500.0, 2.0 * static_cast<double>(i) / static_cast<double>(size));
      if (!GetParam().divisors.empty()) {
        angle /= double{GetParam().divisors[static_cast<std::size_t>(i)]};
      }
      auto a = static_cast<std::size_t>(GetParam().adjacent_pairs ? 2 * i : i);
      auto b = static_cast<std::size_t>(GetParam().adjacent_pairs ? 2 * i + 1 : i + size / 2);
      double x = key[a], y = key[b];
      key[a] = x * std::cos(angle) - y * std::sin(angle);
      key[b] = x * std::sin(angle) + y * std::cos(angle);
    }
    return key;
  }

  std::vector<double> unrotated(std::int64_t token, std::int64_t layer, int part,
                                std::int64_t head) const {
    random_stream random{static_cast<std::uint64_t>(((token * 2 + layer) * 2 + part) * 2 + head),
                         "keys"};
    std::vector<double> out(head_size);
    std::ranges::generate(out, [&] { return 3 * random.normal(); });
    return out;
  }

  /// Writes tokens 0 .. as if computed at the run's positions.
  void compute(kv_store& kv, const kv_run& run) const {
    for (std::int64_t i = 0; i < run.tokens; ++i) {
      kv_place place = place_of(run, i, block_tokens);
      for_each_row(kv.layout(), [&](std::int64_t layer, int part, std::int64_t head) {
        std::vector<double> row = unrotated(i, layer, part, head);
        write_numbers(kv, place, layer, part, head, part == 0 ? rotated(row, run.first + i) : row);
      });
      kv.record_computed(place.block, place.slot, run.first + i);
    }
  }

  /// Largest difference between `run` and what computing it there gives, by part, and whether
  /// everything that carries no position is equal to the bit.
  std::array<double, 2> errors(const kv_store& kv, const kv_run& run) const {
    std::array<double, 2> worst{};
    for (std::int64_t i = 0; i < run.tokens; ++i) {
      for_each_row(kv.layout(), [&](std::int64_t layer, int part, std::int64_t head) {
        std::vector<double> wanted = unrotated(i, layer, part, head);
        if (part == 0) {
          wanted = rotated(wanted, run.first + i);
        }
        auto is = numbers_at(kv, place_of(run, i, block_tokens), layer, part, head);
        for (std::size_t d = 0; d < is.size(); ++d) {
          bool turned = part == 0 && static_cast<std::int64_t>(d) < GetParam().rotary_size;
          if (!turned) {
            wanted[d] = GetParam().type == kv_type::bf16 ? nearest_bf16(wanted[d])
                                                         : static_cast<float>(wanted[d]);
          }
          double error = std::abs(double{is[d]} - wanted[d]);
          worst[turned ? 0 : 1] = std::max(worst[turned ? 0 : 1], error);
        }
      });
    }
    return worst;
  }

  kv_layout layout() const { return layout_of(weights_.shape, block_tokens, GetParam().type); }
  /// Keys reach 13; stored keys are off by half a last place, and so is the result.
  double tolerance() const { return GetParam().type == kv_type::fp32 ? 4e-6 : 0.11; }

  llama_weights weights_;
};

TEST_P(kv_rotations, a_run_moved_to_a_position_holds_the_keys_that_are_computed_there) {
  for (auto [from, to] : {std::pair<std::int64_t, std::int64_t>{0, 1},
                          {0, 40},
                          {5, 27},
                          {27, 5},
                          {3, 1003},
                          {6, 100000},
                          {9, 9}}) {
    SCOPED_TRACE(testing::Message() << "from " << from << " to " << to);
    kv_store kv{layout(), 14};
    fill_bytes(kv, 3);
    std::vector<block_id> old_blocks = block_ids(12, 6, -1), new_blocks = block_ids(0, 6);
    kv_run source{.blocks = old_blocks, .first = from, .tokens = 19};
    kv_run target{.blocks = new_blocks, .first = to, .tokens = 19};
    compute(kv, source);
    kv_mover{weights_}.move(kv, source, target);
    auto [rotated_error, other_error] = errors(kv, target);
    EXPECT_LE(rotated_error, tolerance());
    EXPECT_EQ(other_error, 0);
  }
}

TEST_P(kv_rotations, a_move_writes_its_target_and_nothing_else) {
  kv_store kv{layout(), 14};
  fill_bytes(kv, 4);
  std::vector<block_id> old_blocks = block_ids(7, 6), new_blocks = block_ids(0, 6);
  kv_run source{.blocks = old_blocks, .first = 2, .tokens = 11};
  kv_run target{.blocks = new_blocks, .first = 7, .tokens = 11};
  compute(kv, source);
  auto before = bytes_of_store(kv);
  kv_mover{weights_}.move(kv, source, target);
  auto after = bytes_of_store(kv);
  for (std::int64_t i = 0; i < 11; ++i) {
    kv_place place = place_of(target, i, block_tokens);
    for_each_row(kv.layout(), [&](std::int64_t layer, int part, std::int64_t head) {
      auto at = row_at(kv, place, layer, part, head) - kv.block(block_id{0}).data();
      auto bytes = head_size * kv.layout().element_bytes();
      std::copy_n(before.begin() + at, bytes, after.begin() + at);
    });
  }
  EXPECT_EQ(after, before);
}

TEST_P(kv_rotations, moving_keys_by_minus_p_undoes_moving_them_by_p) {
  kv_store kv{layout(), 12};
  std::vector<block_id> here = block_ids(0, 4), there = block_ids(4, 4), back = block_ids(8, 4);
  kv_run source{.blocks = here, .first = 1, .tokens = 9};
  kv_run target{.blocks = there, .first = 50, .tokens = 9};
  kv_run again{.blocks = back, .first = 1, .tokens = 9};
  compute(kv, source);
  kv_mover mover{weights_};
  mover.move(kv, source, target);
  for (std::int64_t i = 0; i < 9; ++i) {  // no way leads there but to claim it
    kv_place place = place_of(target, i, block_tokens);
    kv.record_computed(place.block, place.slot, 50 + i);
  }
  mover.move(kv, target, again);
  auto [rotated_error, other_error] = errors(kv, again);
  EXPECT_LE(rotated_error, 2 * tolerance());
  EXPECT_EQ(other_error, 0);
}

TEST_P(kv_rotations, products_of_moved_keys_with_queries_depend_on_distances_alone) {
  kv_store kv{layout(), 12};
  std::vector<block_id> here = block_ids(0, 4), there = block_ids(4, 4);
  kv_run source{.blocks = here, .first = 0, .tokens = 8};
  compute(kv, source);
  std::vector<double> query = unrotated(99, 0, 0, 0);
  auto product = [&](const kv_run& run, std::int64_t i) {
    std::vector<double> at = rotated(query, run.first + 8);
    auto key = numbers_at(kv, place_of(run, i, block_tokens), 1, 0, 1);
    return std::inner_product(at.begin(), at.end(), key.begin(), 0.0);
  };
  for (std::int64_t to : {1, 10, 333, 4000}) {
    kv_run target{.blocks = there, .first = to, .tokens = 8};
    kv_mover{weights_}.move(kv, source, target);
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(product(target, i), product(source, i), 30 * tolerance());
    }
  }
}

TEST_P(kv_rotations, a_moved_copy_is_no_source_and_a_refused_move_changes_nothing) {
  kv_store kv{layout(), 12};
  std::vector<block_id> here = block_ids(0, 4), there = block_ids(4, 4), third = block_ids(8, 4);
  kv_run source{.blocks = here, .first = 0, .tokens = 6};
  kv_run copy{.blocks = there, .first = 8, .tokens = 6};
  kv_mover mover{weights_};
  compute(kv, source);
  mover.move(kv, source, copy);
  auto before = bytes_of_store(kv);
  auto refused = [&](const kv_run& from) {
    try {
      mover.move(kv, from, {.blocks = third, .first = 0, .tokens = from.tokens});
    } catch (const run_error& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(refused(copy),
            "KV of position 8 (block 4, slot 0) was not computed there: KV is moved once, from "
            "where it was computed, and never from a moved copy");
  // claimed to stand elsewhere than it was computed, and beyond what was computed
  EXPECT_NE(refused({.blocks = here, .first = 8, .tokens = 6}), "");
  EXPECT_NE(refused({.blocks = here, .first = 0, .tokens = 7}), "");
  EXPECT_EQ(bytes_of_store(kv), before);
  EXPECT_FALSE(kv.computed_at(third[0], 0));
  mover.move(kv, source, {.blocks = third, .first = 3, .tokens = 6});
}

TEST_P(kv_rotations, a_copy_at_its_own_position_is_the_original_again) {
  kv_store kv{layout(), 12};
  std::vector<block_id> here = block_ids(0, 4), there = block_ids(4, 4), third = block_ids(8, 4);
  kv_run source{.blocks = here, .first = 2, .tokens = 6};
  kv_run copy{.blocks = there, .first = 2, .tokens = 6};
  kv_mover mover{weights_};
  compute(kv, source);
  mover.move(kv, source, copy);
  std::vector<std::byte> a(static_cast<std::size_t>(bytes_of(kv.layout(), 6))), b = a;
  gather(kv, source, a);
  gather(kv, copy, b);
  EXPECT_EQ(a, b);
  mover.move(kv, copy, {.blocks = third, .first = 5, .tokens = 6});
  EXPECT_LE(errors(kv, {.blocks = third, .first = 5, .tokens = 6})[0], tolerance());
}

INSTANTIATE_TEST_SUITE_P(
    all_ways, kv_rotations,
    testing::Values(way{kv_type::fp32, true, 10, {}}, way{kv_type::fp32, false, 10, {}},
                    way{kv_type::fp32, true, 6, {}}, way{kv_type::fp32, false, 6, {}},
                    way{kv_type::fp32, true, 8, {1, 1.5F, 4, 32}},
                    way{kv_type::fp32, false, 8, {1, 1.5F, 4, 32}},
                    way{kv_type::bf16, true, 10, {}}, way{kv_type::bf16, false, 6, {}},
                    way{kv_type::bf16, false, 4, {2, 8}}));

TEST(kv_rotation, runs_that_share_a_place_are_a_mistake) {
  llama_weights weights = tiny_llama(0);
  kv_store kv{layout_of(weights.shape, 4, kv_type::fp32), 3};
  std::vector<block_id> blocks = block_ids(0, 3);
  for (std::int64_t i = 0; i < 6; ++i) {
    kv.record_computed(blocks[static_cast<std::size_t>(i / 4)], i % 4, i);
  }
  EXPECT_DEATH(kv_mover{weights}.move(kv, {.blocks = blocks, .first = 0, .tokens = 6},
                                      {.blocks = blocks, .first = 5, .tokens = 6}),
               "assertion failed");
}

}  // namespace
}  // namespace refrain
