// The decoder on the CPU against a plain forward pass in double precision, and what must hold
// however the work is cut: by chunks, batches, blocks and recomputing. Every store is filled with
// NaN first, so a number that was never written cannot be read unseen.
#include "gpu/cpu/decoder.hpp"

#include <gtest/gtest.h>

#include "decoder_support.hpp"
#include "plain_forward.hpp"
#include "support.hpp"

namespace refrain {
namespace {

using shared_weights = std::shared_ptr<const llama_weights>;

/// Allowed difference between two ways to cut the same work, of the largest logit. None in fp32,
/// nor in int8 where all layers are quantised. oneDNN sums in an order that depends on the number
/// of rows. In bf16, and in int8 where weights are floats, few rows go through other layers than
/// many, and activations in 8 bits instead of 16, which random weights make much of.
double tolerance_of_cuts(cpu_precision precision, const llama_weights& model) {
  switch (precision) {
    case cpu_precision::fp32:
      return 0;
    case cpu_precision::fp32_fast:
      return 1e-5;
    case cpu_precision::int8:
      return is_quantised(model.layers.front().query.type) ? 0 : 0.1;
    case cpu_precision::bf16:
      return 0.1;
  }
  return 0;
}

llama_shape shape_of(std::int64_t head_size, std::int64_t heads, std::int64_t kv_heads) {
  return {.layers = 2,
          .hidden = 64,
          .feed_forward = 96,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_size = head_size,
          .vocabulary = 101,
          .context = 4096,
          .rotary_size = head_size};
}

/// builtin:tiny, and one whose layers are all quantised, with groups of 3 and halves for pairs.
std::vector<shared_weights> two_models() {
  llama_shape shape = shape_of(32, 6, 2);
  shape.adjacent_pairs = false;
  return {std::make_shared<llama_weights>(tiny_llama(0)),
          std::make_shared<llama_weights>(
              random_llama(shape, {weight_type::q8_0, weight_type::q4_1, true, true}, 3))};
}

/// A decoder whose KV is all NaN.
struct fresh_decoder : cpu_decoder {
  fresh_decoder(const shared_weights& model, cpu_precision precision, std::int64_t blocks,
                std::int64_t block_tokens)
      : cpu_decoder{model, precision, blocks, block_tokens} {
    fill_with_nan(kv());
  }
  std::vector<float> run(std::span<const decoder_piece> pieces) {
    std::span<const float> logits = forward(pieces);
    return {logits.begin(), logits.end()};
  }
  std::vector<float> run(const decoder_piece& piece) { return run({&piece, 1}); }
  /// Tokens `from` on, so many at a time.
  std::vector<float> run_in_chunks(const test_sequence& sequence, std::size_t from,
                                   std::size_t size) {
    std::vector<float> all;
    for (; from < sequence.tokens.size(); from += size) {
      std::size_t to = std::min(from + size, sequence.tokens.size());
      std::vector<float> logits = run(sequence.piece(from, to));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }
  std::vector<std::byte> bytes_of(block_id id) {
    return {kv().block(id).begin(), kv().block(id).end()};
  }
};

/// Calls `check` with both models in all precisions.
template <class Check>
void in_all_precisions(Check check) {
  for (const shared_weights& model : two_models()) {
    for (cpu_precision precision : precisions_here()) {
      SCOPED_TRACE(model->name + " in " + std::string{name_of(precision)});
      check(model, precision);
    }
  }
}

TEST(decoder, LogitsAreThoseOfAPlainForwardPassForEveryShape) {
  struct shape_case {
    llama_shape shape;
    decoder_look look;
  };
  std::vector<shape_case> cases;
  for (std::int64_t head_size : {32, 64, 80, 128}) {
    for (std::int64_t group : {1, 3, 4, 8}) {
      bool odd = cases.size() % 2 == 1;
      llama_shape shape = shape_of(head_size, 2 * group, 2);
      shape.adjacent_pairs = cases.size() % 3 != 0;
      shape.rotary_size = odd ? head_size / 2 : head_size;
      decoder_look look{.biases = odd, .divisors = cases.size() % 4 == 2};
      look.feed_forward = odd ? weight_type::q8_0 : weight_type::f16;
      cases.push_back({shape, look});
    }
  }
  std::size_t rows = 1;
  for (const auto& [shape, look] : cases) {
    auto model = std::make_shared<llama_weights>(random_llama(shape, look, 5));
    std::vector<token_id> tokens = random_tokens(rows, shape.vocabulary, rows);
    std::vector<float> expected = plain_forward(*model, tokens);
    for (cpu_precision precision : precisions_here()) {
      SCOPED_TRACE(testing::Message() << name_of(precision) << ", heads " << shape.heads << " of "
                                      << shape.head_size << ", rows " << rows);
      fresh_decoder decoder{model, precision, 4, 16};
      test_sequence sequence{tokens, blocks_for(rows, 16, 1)};
      bool exact = precision == cpu_precision::fp32 || precision == cpu_precision::fp32_fast;
      EXPECT_LE(relative_difference(decoder.run(sequence.piece(0, rows)), expected),
                exact ? 2e-5 : 0.08);
    }
    rows = rows % 20 + 3;
  }
}

TEST(decoder, APromptComputedWholeEqualsItInChunksOfAnySize) {
  in_all_precisions([](const shared_weights& model, cpu_precision precision) {
    std::vector<token_id> tokens = random_tokens(70, model->shape.vocabulary, 1);
    for (std::int64_t block_tokens : {1, 16, 64}) {
      test_sequence sequence{tokens, blocks_for(tokens.size(), block_tokens, 1)};
      fresh_decoder decoder{model, precision, 72, block_tokens};
      std::vector<float> whole = decoder.run(sequence.piece(0, tokens.size()));
      for (std::size_t size : {1, 2, 3, 7, 8, 9, 16, 17, 31, 64}) {
        fill_with_nan(decoder.kv());
        EXPECT_LE(relative_difference(decoder.run_in_chunks(sequence, 0, size), whole),
                  tolerance_of_cuts(precision, *model))
            << "chunks of " << size << ", blocks of " << block_tokens;
      }
    }
  });
}

TEST(decoder, APromptLongerThanOnePassEqualsItInChunks) {
  auto model = std::make_shared<llama_weights>(tiny_llama(0));
  std::vector<token_id> tokens = random_tokens(700, model->shape.vocabulary, 2);
  for (cpu_precision precision : precisions_here()) {
    SCOPED_TRACE(name_of(precision));
    test_sequence sequence{tokens, blocks_for(tokens.size(), 16, 0)};
    fresh_decoder decoder{model, precision, 44, 16};
    std::vector<float> whole = decoder.run(sequence.piece(0, tokens.size()));
    fill_with_nan(decoder.kv());
    EXPECT_LE(relative_difference(decoder.run_in_chunks(sequence, 0, 100), whole),
              tolerance_of_cuts(precision, *model));
  }
}

TEST(decoder, ASuffixOverCachedBlocksEqualsThePromptComputedWhole) {
  in_all_precisions([](const shared_weights& model, cpu_precision precision) {
    std::vector<token_id> tokens = random_tokens(60, model->shape.vocabulary, 3);
    auto vocabulary = static_cast<std::size_t>(model->shape.vocabulary);
    test_sequence first{tokens, blocks_for(60, 16, 0)};
    fresh_decoder decoder{model, precision, 16, 16};
    std::vector<float> whole = decoder.run(first.piece(0, 60));
    for (std::size_t cached : {16, 32, 48}) {
      test_sequence second{tokens, blocks_for(60, 16, 8)};
      std::ranges::copy(std::span{first.blocks}.first(cached / 16), second.blocks.begin());
      EXPECT_LE(relative_difference(decoder.run(second.piece(cached, 60)),
                                    std::span{whole}.subspan(cached * vocabulary)),
                tolerance_of_cuts(precision, *model))
          << cached << " cached";
    }
  });
}

TEST(decoder, ABatchDecodesAsItsSequencesOneByOne) {
  in_all_precisions([](const shared_weights& model, cpu_precision precision) {
    fresh_decoder together{model, precision, 64, 16};
    fresh_decoder alone{model, precision, 64, 16};
    std::vector<test_sequence> sequences;
    for (std::size_t i = 0; i < 13; ++i) {  // blocks of all lie between one another's
      sequences.emplace_back(random_tokens(3 + 4 * i, model->shape.vocabulary, i),
                             blocks_for(3 + 4 * i, 16, i, 13));
    }
    for (std::size_t left : {2, 1}) {  // prompts, then a token each
      std::vector<decoder_piece> pieces;
      std::vector<float> expected;
      for (const test_sequence& sequence : sequences) {
        std::size_t end = sequence.tokens.size() - left + 1;
        pieces.push_back(sequence.piece(left == 2 ? 0 : end - 1, end, decoder_piece::last));
        std::vector<float> logits = alone.run(pieces.back());
        expected.insert(expected.end(), logits.begin(), logits.end());
      }
      EXPECT_LE(relative_difference(together.run(pieces), expected),
                tolerance_of_cuts(precision, *model));
    }
  });
}

TEST(decoder, SequencesThatShareBlocksNeverSeeOrChangeWhatIsNotTheirs) {
  in_all_precisions([](const shared_weights& model, cpu_precision precision) {
    std::vector<token_id> tokens = random_tokens(50, model->shape.vocabulary, 4);
    test_sequence first{tokens, blocks_for(50, 16, 0)};
    std::vector<token_id> other = random_tokens(50, model->shape.vocabulary, 5);
    std::copy_n(tokens.begin(), 32, other.begin());
    test_sequence second{other, blocks_for(50, 16, 8)};
    std::ranges::copy(std::span{first.blocks}.first(2), second.blocks.begin());

    fresh_decoder shared{model, precision, 16, 16};
    shared.run(first.piece(0, 32));
    std::vector<std::vector<std::byte>> before;
    for (std::uint32_t id = 0; id < 16; ++id) {
      before.push_back(shared.bytes_of(block_id{id}));
    }
    const decoder_piece pieces[] = {first.piece(32, 50), second.piece(32, 50)};
    std::vector<float> logits = shared.run(pieces);

    fresh_decoder alone{model, precision, 16, 16};
    alone.run(first.piece(0, 32));
    std::vector<float> expected = alone.run(first.piece(32, 50));
    fill_with_nan(alone.kv());
    alone.run(second.piece(0, 32));
    std::vector<float> rest = alone.run(second.piece(32, 50));
    expected.insert(expected.end(), rest.begin(), rest.end());
    EXPECT_LE(relative_difference(logits, expected), tolerance_of_cuts(precision, *model));
    for (std::uint32_t id = 0; id < 16; ++id) {  // 2 and 3, 10 and 11 hold the two tails
      bool tail = id / 2 == 1 || id / 2 == 5;
      EXPECT_EQ(shared.bytes_of(block_id{id}) != before[id], tail) << "block " << id;
    }
  });
}

TEST(decoder, ChosenPositionsAreComputedAgainWithoutTheOthers) {
  in_all_precisions([](const shared_weights& model, cpu_precision precision) {
    std::vector<token_id> tokens = random_tokens(60, model->shape.vocabulary, 6);
    test_sequence sequence{tokens, blocks_for(60, 16, 0)};
    fresh_decoder decoder{model, precision, 4, 16};
    auto vocabulary = static_cast<std::size_t>(model->shape.vocabulary);
    std::vector<float> whole = decoder.run(sequence.piece(0, 60));
    const std::vector<std::int64_t> chosen{3, 17, 18, 40, 59};
    std::vector<token_id> again;
    std::vector<float> expected;
    const kv_layout& layout = decoder.kv().layout();
    const std::int64_t row = layout.head_size * layout.element_bytes();
    for (std::int64_t position : chosen) {
      again.push_back(tokens[static_cast<std::size_t>(position)]);
      auto at = whole.begin() + position * static_cast<std::int64_t>(vocabulary);
      expected.insert(expected.end(), at, at + static_cast<std::int64_t>(vocabulary));
      block_id block = sequence.blocks[static_cast<std::size_t>(position / 16)];
      for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
        for (std::int64_t head = 0; head < layout.kv_heads; ++head) {
          std::int64_t offset = position % 16 * row;
          std::fill_n(decoder.kv().keys(block, layer, head) + offset, row, std::byte{255});
          std::fill_n(decoder.kv().values(block, layer, head) + offset, row, std::byte{255});
        }
      }
    }
    std::vector<float> logits = decoder.run({.tokens = again,
                                             .positions = chosen,
                                             .blocks = sequence.blocks,
                                             .logits = decoder_piece::all});
    EXPECT_LE(relative_difference(logits, expected), tolerance_of_cuts(precision, *model));
  });
}

TEST(decoder, OnlyTheWantedLogitsAreReturned) {
  auto model = std::make_shared<llama_weights>(tiny_llama(0));
  fresh_decoder decoder{model, cpu_precision::fp32, 8, 16};
  test_sequence sequence{random_tokens(20, tiny_vocabulary, 1), blocks_for(20, 16, 0)};
  test_sequence other{random_tokens(5, tiny_vocabulary, 2), blocks_for(5, 16, 4)};
  std::vector<float> all = decoder.run(sequence.piece(0, 20));
  EXPECT_EQ(all.size(), std::size_t{20 * tiny_vocabulary});
  const decoder_piece pieces[] = {other.piece(0, 5, decoder_piece::none),
                                  sequence.piece(0, 20, decoder_piece::last)};
  std::vector<float> last = decoder.run(pieces);
  EXPECT_TRUE(std::ranges::equal(last, std::span{all}.last(tiny_vocabulary)));
  EXPECT_TRUE(decoder.run(other.piece(0, 5, decoder_piece::none)).empty());
}

TEST(decoder, DotProductsOfQueriesAndKeysDependOnDistancesAlone) {
  std::vector<const decoder_kernels*> sets{&reference_kernels()};
  if (avx512_features()) {
    sets.push_back(&avx512_kernels());
  }
  random_stream random{1, "rotation"};
  for (const decoder_kernels* kernels : sets) {
    for (bool adjacent : {true, false}) {
      for (std::int64_t size : {32, 64, 80, 128}) {
        std::vector<float> query, key;
        for (std::int64_t i = 0; i < size; ++i) {
          query.push_back(static_cast<float>(random.normal()));
          key.push_back(static_cast<float>(random.normal()));
        }
        auto turned = [&](std::vector<float> head, std::int64_t position) {
          std::vector<rotation> angles;
          for (std::int64_t i = 0; i < size / 2; ++i) {
            double angle = static_cast<double>(position) *
                           std::pow(1e4, -2.0 * static_cast<double>(i) / static_cast<double>(size));
            angles.push_back(
                {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
          }
          kernels->rotate(head.data(), angles.data(), size, adjacent);
          return head;
        };
        for (std::int64_t distance : {0, 1, 5, 300}) {
          auto dot = [&](std::int64_t position) {
            std::vector<float> q = turned(query, position + distance);
            return std::inner_product(q.begin(), q.end(), turned(key, position).begin(), 0.0);
          };
          double expected = dot(0);
          for (std::int64_t position : {1, 17, 1000, 4000}) {
            EXPECT_NEAR(dot(position), expected, 1e-5 * static_cast<double>(size))
                << "position " << position << ", distance " << distance;
          }
        }
        EXPECT_GT(relative_difference(turned(key, 3), key), 0.01);
      }
    }
  }
}

TEST(decoder, StopsWithinALayerOnceItIsTold) {
  auto model = std::make_shared<llama_weights>(tiny_llama(0));
  int asked = 0;
  int asks_left = 1000;
  auto goes_on = [&] {
    ++asked;
    return asks_left-- > 0;
  };
  std::vector<block_id> blocks;
  for (std::uint32_t i = 0; i < 80; ++i) {
    blocks.emplace_back(i);
  }
  cpu_decoder decoder{model, cpu_precision::fp32, 80, 16, goes_on};
  EXPECT_EQ(asked, 3);  // layers packed
  test_sequence sequence{random_tokens(600, model->shape.vocabulary, 1), blocks};
  decoder_piece piece = sequence.piece(0, 600, decoder_piece::last);
  asked = 0;
  std::span<const float> logits = decoder.forward({&piece, 1});
  std::vector<float> whole{logits.begin(), logits.end()};
  EXPECT_EQ(asked, 2 * 3 * 3);  // passes of 512 and 88 rows, three layers, three times in each
  for (int after : {0, 1, 2, 10, 17}) {
    asked = 0;
    asks_left = after;
    EXPECT_THROW(decoder.forward({&piece, 1}), computing_stopped);
    EXPECT_EQ(asked, after + 1);
  }
  asks_left = 1000;
  std::span<const float> again = decoder.forward({&piece, 1});
  EXPECT_TRUE(std::ranges::equal(again, whole)) << "what was stopped is computed as if anew";
}

TEST(decoder, PrecisionsHaveNames) {
  for (cpu_precision precision : precisions_here()) {
    EXPECT_EQ(precision_of(name_of(precision), "x"), precision);
  }
  std::string message = input_error_of([] { precision_of("bf17", "execution.precision"); });
  EXPECT_NE(message.find("execution.precision"), std::string::npos);
  EXPECT_NE(message.find("bf16"), std::string::npos) << message;
}

}  // namespace
}  // namespace refrain
