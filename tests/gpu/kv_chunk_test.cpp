// Chunks that a real decoder computed alone, moved into prompts.
#include "gpu/cpu/decoder.hpp"
#include "gpu/kv_rotation.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "kv_support.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::int64_t block_tokens = 16;

std::vector<token_id> some_tokens(std::size_t count, std::uint64_t seed) {
  random_stream random{seed, "tokens"};
  std::vector<token_id> out(count);
  std::ranges::generate(out, [&] { return static_cast<token_id>(random.below(tiny_vocabulary)); });
  return out;
}

/// Computes tokens at first, first + 1, ...; returns the last one's logits.
std::vector<float> computed(cpu_decoder& decoder, std::span<const token_id> tokens,
                            std::int64_t first, std::span<const block_id> blocks) {
  std::vector<std::int64_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), first);
  decoder_piece piece{.tokens = tokens, .positions = positions, .blocks = blocks};
  auto logits = decoder.forward({&piece, 1});
  return {logits.begin(), logits.end()};
}

std::shared_ptr<const llama_weights> model_of(std::int64_t layers, bool adjacent_pairs) {
  llama_weights weights = tiny_llama(3);
  weights.layers.resize(static_cast<std::size_t>(layers));
  weights.shape.layers = layers;
  weights.shape.adjacent_pairs = adjacent_pairs;
  return std::make_shared<llama_weights>(std::move(weights));
}

/// Models that rotate either way, at every precision that this CPU has.
template <class Check>
void for_all_decoders(std::int64_t layers, Check check) {
  for (bool adjacent_pairs : {true, false}) {
    for (cpu_precision precision : {cpu_precision::fp32, cpu_precision::bf16}) {
      if (precision == cpu_precision::bf16 && !avx512_features()) {
        continue;
      }
      SCOPED_TRACE(testing::Message() << name_of(precision) << ", adjacent " << adjacent_pairs);
      auto weights = model_of(layers, adjacent_pairs);
      cpu_decoder decoder{weights, precision, 40, block_tokens};
      check(decoder, precision == cpu_precision::fp32);
    }
  }
}

double distance(std::span<const float> a, std::span<const float> b) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
    largest = std::max(largest, std::abs(double{a[i]}));
  }
  return worst / largest;
}

TEST(kv_chunks, in_one_layer_a_moved_chunk_is_used_like_one_computed_in_its_place) {
  for_all_decoders(1, [](cpu_decoder& decoder, bool exact) {
    auto before = some_tokens(23, 1), chunk = some_tokens(50, 2), after = some_tokens(9, 3);
    auto whole = block_ids(0, 8), alone = block_ids(8, 8), joined = block_ids(16, 8);
    std::vector<token_id> prompt = before;
    prompt.insert(prompt.end(), chunk.begin(), chunk.end());
    prompt.insert(prompt.end(), after.begin(), after.end());
    auto wanted = computed(decoder, prompt, 0, whole);

    computed(decoder, chunk, 0, alone);
    computed(decoder, before, 0, joined);
    kv_mover{decoder.weights()}.move(
        decoder.kv(), {.blocks = alone, .first = 0, .tokens = 50},
        {.blocks = std::span{joined}.subspan(1), .first = 23, .tokens = 50});
    auto given = computed(decoder, after, 73, joined);
    EXPECT_LT(distance(wanted, given), exact ? 1e-5 : 0.02);
    // and without the rotation it would not be
    std::vector<std::byte> dense(static_cast<std::size_t>(bytes_of(decoder.kv().layout(), 50)));
    gather(decoder.kv(), {.blocks = alone, .first = 0, .tokens = 50}, dense);
    scatter(decoder.kv(), {.blocks = std::span{joined}.subspan(1), .first = 23, .tokens = 50},
            dense);
    EXPECT_GT(distance(wanted, computed(decoder, after, 73, joined)), 0.3);
  });
}

TEST(kv_chunks, the_first_layers_keys_of_a_moved_chunk_are_those_of_a_whole_prompt) {
  for_all_decoders(3, [](cpu_decoder& decoder, bool exact) {
    auto prompt = some_tokens(90, 4);
    auto whole = block_ids(0, 8), alone = block_ids(8, 8), moved = block_ids(16, 8);
    computed(decoder, prompt, 0, whole);
    computed(decoder, std::span{prompt}.subspan(37), 0, alone);
    kv_run target{.blocks = moved, .first = 37, .tokens = 53};
    kv_mover{decoder.weights()}.move(decoder.kv(), {.blocks = alone, .first = 0, .tokens = 53},
                                     target);
    for (std::int64_t i = 0; i < 53; ++i) {
      kv_place in_whole{whole[static_cast<std::size_t>((37 + i) / block_tokens)],
                        (37 + i) % block_tokens};
      for (int part : {0, 1}) {
        auto wanted = numbers_at(decoder.kv(), in_whole, 0, part, 1);
        auto given = numbers_at(decoder.kv(), place_of(target, i, block_tokens), 0, part, 1);
        EXPECT_LE(distance(wanted, given), part == 1 ? 0 : exact ? 1e-5 : 0.01);
      }
    }
  });
}

TEST(kv_chunks, in_all_layers_a_query_over_a_moved_chunk_sees_what_it_saw_over_the_chunk) {
  for_all_decoders(3, [](cpu_decoder& decoder, bool exact) {
    const llama_shape& shape = decoder.weights().shape;
    const decoder_kernels& kernels = exact ? reference_kernels() : avx512_kernels();
    auto alone = block_ids(8, 4), moved = block_ids(16, 4);
    computed(decoder, some_tokens(60, 5), 0, alone);
    // the tokens' places in their blocks stay, so that attention over the chunk alone can be asked
    // for: as position 0 .. 59 of a sequence whose queries and keys are rotated by 1600 more
    kv_mover{decoder.weights()}.move(decoder.kv(), {.blocks = alone, .first = 0, .tokens = 60},
                                     {.blocks = moved, .first = 1600, .tokens = 60});
    auto frequencies = rotary_frequencies(decoder.weights());
    auto attended = [&](std::span<const block_id> blocks, std::int64_t base, std::int64_t layer) {
      random_stream random{static_cast<std::uint64_t>(layer), "queries"};
      std::vector<float> q(static_cast<std::size_t>(shape.heads * shape.head_size));
      std::ranges::generate(q, [&] { return static_cast<float>(2 * random.normal()); });
      std::vector<rotation> angles;
      for (double frequency : frequencies) {
        double angle = static_cast<double>(base + 59) * frequency;
        angles.push_back(
            {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      }
      for (std::int64_t head = 0; head < shape.heads; ++head) {
        kernels.rotate(q.data() + head * shape.head_size, angles.data(), shape.rotary_size,
                       shape.adjacent_pairs);
      }
      std::int64_t last = 59;
      std::vector<float> out(q.size());
      kernels.attention(decoder.kv(), layer, {shape.heads, shape.kv_heads, shape.head_size},
                        {.first_row = 0, .positions = {&last, 1}, .blocks = blocks}, q.data(),
                        static_cast<std::int64_t>(q.size()), out.data());
      return out;
    };
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      EXPECT_LT(distance(attended(alone, 0, layer), attended(moved, 1600, layer)),
                exact ? 1e-5 : 0.03);
      EXPECT_GT(distance(attended(alone, 0, layer), attended(alone, 1600, layer)), 0.3);
    }
  });
}

TEST(kv_chunks, recomputed_tokens_of_a_moved_chunk_are_computed_ones_again) {
  cpu_decoder decoder{model_of(2, true), cpu_precision::fp32, 40, block_tokens};
  auto chunk = some_tokens(20, 6);
  auto alone = block_ids(8, 2), moved = block_ids(0, 3), third = block_ids(20, 3);
  computed(decoder, chunk, 0, alone);
  computed(decoder, some_tokens(10, 7), 0, moved);
  kv_mover mover{decoder.weights()};
  mover.move(decoder.kv(), {.blocks = alone, .first = 0, .tokens = 20},
             {.blocks = moved, .first = 10, .tokens = 20});
  computed(decoder, std::span{chunk}.first(5), 10, moved);
  EXPECT_EQ(decoder.kv().computed_at(moved[0], 14), 14);
  EXPECT_FALSE(decoder.kv().computed_at(moved[0], 15));
  mover.move(decoder.kv(), {.blocks = moved, .first = 10, .tokens = 5},
             {.blocks = third, .first = 30, .tokens = 5});
  EXPECT_THROW(mover.move(decoder.kv(), {.blocks = moved, .first = 10, .tokens = 6},
                          {.blocks = third, .first = 30, .tokens = 6}),
               run_error);
}

}  // namespace
}  // namespace refrain
