// KV blocks of a GPU, by hand and where none fit.
#include "gpu/capacity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "gpu/model.hpp"
#include "gpu/profile.hpp"
#include "support.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

// 0.9 x 25,250,627,584 = 22,725,564,825; less 2 x 8,030,000,000 of weights and 1,240,000,000 of
// activations leaves 5,425,564,825; a block of 16 tokens takes 16 x 131,072 = 2,097,152 bytes:
// 2,587.11 blocks. vLLM 0.19 measured 2,588 on this GPU with this model and share.
TEST(capacity, gives_the_blocks_of_llama_3_8b_on_an_rtx_4090) {
  EXPECT_EQ(kv_blocks(load_profile("rtx-4090"), load_model("llama-3-8b"), 1, 0.9, 16), 2587);
}

// The same without the share: 7,950,627,584 / 2,097,152 = 3,791.15.
TEST(capacity, gives_the_whole_memory_as_the_most) {
  EXPECT_EQ(max_kv_blocks(load_profile("rtx-4090"), load_model("llama-3-8b"), 1, 16), 3791);
}

// 0.9 x 85,899,345,920 = 77,309,411,328; less 141,108,000,000 / 4 and 1,240,000,000 leaves
// 40,792,411,328; a rank holds 2 of 8 key-value heads: 512 x 81,920 = 41,943,040 bytes, 972.57.
TEST(capacity, splits_weights_and_key_value_heads_over_ranks) {
  EXPECT_EQ(kv_blocks(load_profile("h100-sxm"), load_model("llama-3-70b"), 4, 0.9, 512), 972);
}

TEST(capacity, names_the_weights_when_they_do_not_fit) {
  EXPECT_EQ(input_error_of(
                [] { kv_blocks(load_profile("h100-sxm"), load_model("llama-3-70b"), 1, 0.9, 16); }),
            "tiers.gpu.share: llama-3-70b needs 131.4 GiB of weights on each GPU of 80 GiB; raise "
            "hardware.tensor_parallel above 1");
}

TEST(capacity, names_the_share_when_it_leaves_no_block) {
  EXPECT_EQ(input_error_of(
                [] { kv_blocks(load_profile("h100-sxm"), load_model("llama-3-8b"), 1, 0.2, 16); }),
            "tiers.gpu.share: 20% of the 80 GiB of h100-sxm leaves no KV block after 15.0 GiB of "
            "weights and 1.2 GiB of activations; raise the share or hardware.tensor_parallel");
}

TEST(capacity, refuses_a_degree_that_splits_heads_unevenly) {
  EXPECT_THAT(input_error_of([] {
                kv_blocks(load_profile("h100-sxm"), load_model("qwen2.5-7b"), 8, 0.9, 16);
              }),
              HasSubstr("hardware.tensor_parallel: "));
}

}  // namespace
}  // namespace refrain
