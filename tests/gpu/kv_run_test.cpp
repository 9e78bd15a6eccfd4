#include "gpu/kv_run.hpp"

#include "kv_support.hpp"

namespace refrain {
namespace {

const kv_layout layout{
    .layers = 2, .kv_heads = 3, .head_size = 6, .block_tokens = 4, .type = kv_type::bf16};

/// Every start in a block and every length up to three blocks and more.
template <class Check>
void for_ragged_runs(std::span<const block_id> blocks, Check check) {
  for (std::int64_t first : {0, 1, 3, 4, 7, 18}) {
    for (std::int64_t tokens : {0, 1, 3, 4, 5, 9, 13}) {
      SCOPED_TRACE(testing::Message() << "first " << first << ", tokens " << tokens);
      check(kv_run{.blocks = blocks, .first = first, .tokens = tokens});
    }
  }
}

TEST(kv_runs, gathering_gives_layer_part_head_token_and_dim_in_this_order) {
  kv_store kv{layout, 9};
  fill_bytes(kv, 1);
  for_ragged_runs(block_ids(8, 4, -2), [&](const kv_run& run) {
    std::vector<std::byte> dense(static_cast<std::size_t>(bytes_of(layout, run.tokens)));
    gather(kv, run, dense);
    const std::byte* at = dense.data();
    for_each_row(layout, [&](std::int64_t layer, int part, std::int64_t head) {
      for (std::int64_t i = 0; i < run.tokens; ++i, at += 12) {
        std::int64_t slot = run.first % 4 + i;
        kv_place place{run.blocks[static_cast<std::size_t>(slot / 4)], slot % 4};
        EXPECT_EQ(std::memcmp(at, row_at(kv, place, layer, part, head), 12), 0);
      }
    });
    EXPECT_EQ(at, dense.data() + dense.size());
  });
}

TEST(kv_runs, scattering_what_was_gathered_equals_a_copy_token_by_token_and_touches_no_more) {
  for_ragged_runs(block_ids(8, 4, -2), [&](const kv_run& run) {
    for (std::int64_t first : {0, 2, 7}) {
      kv_store kv{layout, 16};
      fill_bytes(kv, 2);
      kv_store copied{layout, 16};
      for (std::uint32_t i = 0; i < 16; ++i) {
        std::ranges::copy(kv.block(block_id{i}), copied.block(block_id{i}).begin());
      }
      std::vector<block_id> blocks = block_ids(9, 5);
      kv_run to{.blocks = blocks, .first = first, .tokens = run.tokens};
      std::vector<std::byte> dense(static_cast<std::size_t>(bytes_of(layout, run.tokens)));
      gather(kv, run, dense);
      scatter(kv, to, dense);
      for_each_row(layout, [&](std::int64_t layer, int part, std::int64_t head) {
        for (std::int64_t i = 0; i < run.tokens; ++i) {
          std::memcpy(row_at(copied, place_of(to, i, 4), layer, part, head),
                      row_at(copied, place_of(run, i, 4), layer, part, head), 12);
        }
      });
      EXPECT_EQ(bytes_of_store(kv), bytes_of_store(copied));
    }
  });
}

TEST(kv_runs, slots_that_were_scattered_to_are_not_taken_for_computed) {
  kv_store kv{layout, 2};
  EXPECT_FALSE(kv.computed_at(block_id{1}, 3));
  kv.record_computed(block_id{1}, 3, 0);
  kv.record_computed(block_id{1}, 2, 77);
  EXPECT_EQ(kv.computed_at(block_id{1}, 3), 0);
  std::vector<block_id> blocks = block_ids(1, 1);
  std::vector<std::byte> dense(static_cast<std::size_t>(bytes_of(layout, 1)));
  scatter(kv, {.blocks = blocks, .first = 3, .tokens = 1}, dense);
  EXPECT_FALSE(kv.computed_at(block_id{1}, 3));
  EXPECT_EQ(kv.computed_at(block_id{1}, 2), 77);
}

}  // namespace
}  // namespace refrain
