#include "gpu/kv_bytes.hpp"

#include <xxhash.h>

#include <functional>

#include "gpu/cpu/decoder.hpp"
#include "gpu/kv_rotation.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "kv_support.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr block_id source{1}, target{2};

llama_weights model() {
  static const llama_weights tiny = tiny_llama(0);
  llama_weights weights = tiny;
  weights.shape.layers = 2;
  weights.shape.head_size = 4;
  weights.shape.rotary_size = 4;
  return weights;
}

kv_layout layout(kv_type type = kv_type::fp32) {
  return layout_of(model().shape, 4, type);
}

exact_fingerprint chain_of(std::initializer_list<token_id> tokens, std::uint64_t salt = 0) {
  token_chain chain{salt};
  chain.add(std::vector<token_id>{tokens});
  return chain.tokens();
}

const kv_block_contents full{
    .first = 4, .tokens = 4, .chain = chain_of({11, 12, 13, 14, 15, 16, 17, 18})};

/// A store in which the source block holds what `contents` says.
kv_store& filled(kv_store& kv, const kv_block_contents& contents) {
  fill_bytes(kv, 5);
  for (std::int64_t i = 0; i < contents.tokens; ++i) {
    kv.record_computed(source, i, contents.first + i);
  }
  return kv;
}

std::vector<std::byte> exported(kv_type type = kv_type::fp32) {
  kv_store kv{layout(type), 4};
  return kv_bytes{model(), "fp32", layout(type)}.export_block(filled(kv, full), source, full);
}

/// With the checksum that the rest asks for.
std::vector<std::byte> signed_again(std::vector<std::byte> bytes) {
  std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size() - 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  return bytes;
}

/// Imports into a store of other contents; unless imported, nothing of it may have changed.
kv_import import_into_other(kv_bytes& reader, std::span<const std::byte> bytes,
                            const kv_block_contents& wanted, const kv_layout& as = layout()) {
  kv_store kv{as, 4};
  fill_bytes(kv, 6);
  auto before = bytes_of_store(kv);
  kv_import outcome = reader.import_block(bytes, wanted, kv, target);
  EXPECT_EQ(bytes_of_store(kv) == before, outcome != kv_import::imported);
  EXPECT_EQ(kv.computed_at(target, 0).has_value(), outcome == kv_import::imported);
  return outcome;
}

TEST(kv_bytes, export_then_import_is_the_identity) {
  for (kv_type type : {kv_type::fp32, kv_type::bf16}) {
    for (std::int64_t tokens : {1, 3, 4}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << ", tokens " << tokens);
      kv_block_contents contents{.first = 8, .tokens = tokens, .chain = chain_of({1, 2})};
      kv_store kv{layout(type), 4};
      filled(kv, contents);
      kv.record_computed(target, 3, 11);  // by a former owner
      auto before = bytes_of_store(kv);
      kv_bytes writer{model(), "bf16", layout(type)}, reader{model(), "bf16", layout(type)};
      auto bytes = writer.export_block(kv, source, contents);
      EXPECT_EQ(bytes.size(), writer.size_of(tokens));
      ASSERT_EQ(reader.import_block(bytes, contents, kv, target), kv_import::imported);
      EXPECT_EQ(reader.export_block(kv, target, contents), bytes);
      // filled slots are the source's, the others what they were
      for (std::int64_t slot = 0; slot < 4; ++slot) {
        for_each_row(kv.layout(), [&](std::int64_t layer, int part, std::int64_t head) {
          auto size = static_cast<std::size_t>(4 * kv.layout().element_bytes());
          auto at = row_at(kv, {target, slot}, layer, part, head);
          auto was = slot < tokens ? row_at(kv, {source, slot}, layer, part, head)
                                   : before.data() + (at - kv.block(block_id{0}).data());
          EXPECT_EQ(std::memcmp(at, was, size), 0);
        });
        EXPECT_EQ(kv.computed_at(target, slot).has_value(), slot < tokens);
      }
    }
  }
}

TEST(kv_bytes, decoding_over_imported_blocks_gives_the_same_bits) {
  auto weights = std::make_shared<llama_weights>(tiny_llama(0));
  cpu_decoder decoder{weights, cpu_precision::fp32, 12, 16};
  std::vector<token_id> tokens(40, 65);
  std::vector<std::int64_t> positions(40);
  std::iota(tokens.begin(), tokens.end(), 20);
  std::iota(positions.begin(), positions.end(), 0);
  auto blocks = block_ids(0, 3), copies = block_ids(6, 3);
  auto next = [&](std::int64_t first, std::span<const block_id> from) {
    auto at = static_cast<std::size_t>(first);
    decoder_piece piece{.tokens = std::span{tokens}.subspan(at),
                        .positions = std::span{positions}.subspan(at),
                        .blocks = from};
    auto logits = decoder.forward({&piece, 1});
    return std::vector<float>{logits.begin(), logits.end()};
  };
  auto wanted = next(0, blocks);
  kv_bytes bytes{*weights, name_of(cpu_precision::fp32), decoder.kv().layout()};
  token_chain chain{0};
  for (std::size_t i = 0; i < 3; ++i) {
    auto here = std::span{tokens}.subspan(16 * i, i < 2 ? 16 : 8);
    chain.add(here);
    kv_block_contents contents{.first = static_cast<std::int64_t>(16 * i),
                               .tokens = static_cast<std::int64_t>(here.size()),
                               .chain = chain.tokens()};
    auto stored = bytes.export_block(decoder.kv(), blocks[i], contents);
    ASSERT_EQ(bytes.import_block(stored, contents, decoder.kv(), copies[i]), kv_import::imported);
  }
  EXPECT_EQ(next(39, copies), wanted);
  EXPECT_EQ(bytes.counts().imported, 3);
}

TEST(kv_bytes, whatever_differs_from_what_is_asked_for_is_a_miss) {
  auto bytes = exported();
  auto other_model = [](auto change) {
    llama_weights weights = model();
    change(weights);
    return kv_bytes{weights, "fp32", layout_of(weights.shape, 4, kv_type::fp32)};
  };
  std::vector<kv_bytes> readers{
      other_model([](auto& weights) { weights.fingerprint[0] ^= 1; }),
      other_model([](auto& weights) { weights.fingerprint[1] ^= 1; }),
      other_model([](auto& weights) { weights.shape.adjacent_pairs = false; }),
      other_model([](auto& weights) { weights.shape.rotary_size = 2; }),
      kv_bytes{model(), "fp32_fast", layout()},
      kv_bytes{model(), "", layout()}};
  for (kv_bytes& reader : readers) {
    EXPECT_EQ(import_into_other(reader, bytes, full), kv_import::miss);
    EXPECT_EQ(reader.counts().misses, 1);
    EXPECT_EQ(reader.counts().damaged + reader.counts().imported, 0);
  }
  for (auto change : std::vector<std::function<void(llama_weights&, kv_layout&)>>{
           [](auto&weights, auto&as) { weights.shape.layers = as.layers = 3; },
           [](auto&weights, auto&as) { weights.shape.kv_heads = as.kv_heads = 1; },
           [](auto&weights, auto&as) { weights.shape.head_size = as.head_size = 8; },
           [](auto&, auto&as) { as.block_tokens = 2; },
           [](auto&, auto&as) { as.type = kv_type::bf16; }}) {
    llama_weights weights = model();
    kv_layout as = layout();
    change(weights, as);
    kv_bytes reader{weights, "fp32", as};
    kv_block_contents wanted = full;
    wanted.tokens = std::min(full.tokens, as.block_tokens);
    EXPECT_EQ(import_into_other(reader, bytes, wanted, as), kv_import::miss);
  }
}

TEST(kv_bytes, other_tokens_under_the_same_key_are_a_miss) {
  auto bytes = exported();
  kv_bytes reader{model(), "fp32", layout()};
  auto wanted = [](std::int64_t first, std::int64_t tokens, exact_fingerprint chain) {
    return kv_block_contents{.first = first, .tokens = tokens, .chain = chain};
  };
  // one token of an earlier block differs, the order does, the isolation domain does
  auto early = chain_of({10, 12, 13, 14, 15, 16, 17, 18});
  auto order = chain_of({12, 11, 13, 14, 15, 16, 17, 18});
  auto salted = chain_of({11, 12, 13, 14, 15, 16, 17, 18}, 1);
  for (const auto& asked :
       {wanted(4, 4, early), wanted(4, 4, order), wanted(4, 4, salted), wanted(0, 4, full.chain),
        wanted(8, 4, full.chain), wanted(4, 3, full.chain)}) {
    EXPECT_EQ(import_into_other(reader, bytes, asked), kv_import::miss);
  }
  EXPECT_EQ(import_into_other(reader, bytes, full), kv_import::imported);
  EXPECT_EQ(reader.counts().misses, 6);
  EXPECT_EQ(reader.counts().imported, 1);
}

TEST(kv_bytes, any_flipped_bit_is_found) {
  auto bytes = exported();
  kv_bytes reader{model(), "fp32", layout()};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto wrong = bytes;
    wrong[i] ^= std::byte{1} << (i % 8);
    bool other_version = i >= 8 && i < 12;
    EXPECT_EQ(import_into_other(reader, wrong, full),
              other_version ? kv_import::miss : kv_import::damaged)
        << "byte " << i;
  }
  EXPECT_EQ(reader.counts().misses, 4);
  EXPECT_EQ(reader.counts().damaged, bytes.size() - 4);
}

TEST(kv_bytes, any_other_length_is_damage) {
  auto bytes = exported();
  kv_bytes reader{model(), "fp32", layout()};
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(import_into_other(reader, std::span{bytes}.first(size), full), kv_import::damaged);
  }
  bytes.push_back(std::byte{0});
  EXPECT_EQ(import_into_other(reader, bytes, full), kv_import::damaged);
  EXPECT_EQ(import_into_other(reader, signed_again(bytes), full), kv_import::damaged);
  bytes.erase(bytes.end() - 20, bytes.end());
  EXPECT_EQ(import_into_other(reader, signed_again(bytes), full), kv_import::damaged);
}

TEST(kv_bytes, a_later_version_is_a_miss_whatever_follows) {
  auto bytes = exported();
  bytes[8] = std::byte{2};
  kv_bytes reader{model(), "fp32", layout()};
  EXPECT_EQ(import_into_other(reader, bytes, full), kv_import::miss);
  EXPECT_EQ(import_into_other(reader, signed_again(bytes), full), kv_import::miss);
  EXPECT_EQ(import_into_other(reader, std::span{bytes}.first(12), full), kv_import::miss);
}

TEST(kv_bytes, the_fields_lie_where_the_documentation_says) {
  auto bytes = exported(kv_type::bf16);
  auto number = [&](std::size_t at, int size) {
    std::uint64_t value = 0;
    for (int i = size; i-- > 0;) {
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + static_cast<std::size_t>(i)]);
    }
    return value;
  };
  auto text = [&](std::size_t at, std::size_t size) {
    return std::string{reinterpret_cast<const char*>(bytes.data()) + at, size};
  };
  llama_weights weights = model();
  EXPECT_EQ(text(0, 8), "refrn-kv");
  EXPECT_EQ(number(8, 4), 1);
  EXPECT_EQ(number(12, 4), 1);  // bf16
  EXPECT_EQ(number(16, 8), weights.fingerprint[0]);
  EXPECT_EQ(number(24, 8), weights.fingerprint[1]);
  EXPECT_EQ(text(32, 16), std::string("fp32") + std::string(12, '\0'));
  EXPECT_EQ(number(48, 4), 2);  // layers
  EXPECT_EQ(number(52, 4), 2);  // KV heads
  EXPECT_EQ(number(56, 4), 4);  // head size
  EXPECT_EQ(number(60, 4), 4);  // block
  EXPECT_EQ(number(64, 4), 4);  // rotary size
  EXPECT_EQ(number(68, 4), 1);  // adjacent pairs
  EXPECT_EQ(number(72, 8), 4);  // first position
  EXPECT_EQ(number(80, 8), 4);  // tokens
  EXPECT_EQ(number(88, 8), full.chain.high);
  EXPECT_EQ(number(96, 8), full.chain.low);
  EXPECT_EQ(bytes.size(), 104 + 2 * 2 * 2 * 4 * 4 * 2 + 8);
  EXPECT_EQ(number(bytes.size() - 8, 8), XXH3_64bits(bytes.data(), bytes.size() - 8));
}

TEST(kv_bytes, a_chain_is_the_hash_of_the_salt_and_all_tokens_however_they_are_added) {
  std::vector<std::uint8_t> flat{5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 3, 0, 1, 0};
  XXH128_hash_t hash = XXH3_128bits(flat.data(), flat.size());
  exact_fingerprint wanted{.high = hash.high64, .low = hash.low64};
  EXPECT_EQ(chain_of({1, 258, 65539}, 5), wanted);
  token_chain chain{5};
  chain.add(std::vector<token_id>{1});
  EXPECT_EQ(chain.tokens(), chain_of({1}, 5));
  chain.add({});
  chain.add(std::vector<token_id>{258, 65539});
  EXPECT_EQ(chain.tokens(), wanted);
}

TEST(kv_bytes, moved_copies_and_unfilled_slots_are_not_exported) {
  kv_store kv{layout(), 4};
  kv_block_contents contents{.first = 4, .tokens = 3, .chain = chain_of({1})};
  filled(kv, contents);
  kv_bytes writer{model(), "fp32", layout()};
  std::vector<block_id> from{source}, to{target};
  kv_mover{model()}.move(kv, {.blocks = from, .first = 4, .tokens = 3},
                         {.blocks = to, .first = 8, .tokens = 3});
  contents.first = 8;
  try {
    writer.export_block(kv, target, contents);
    FAIL();
  } catch (const run_error& error) {
    EXPECT_STREQ(error.what(),
                 "KV of position 8 (block 2, slot 0) was not computed there and is not exported");
  }
  EXPECT_THROW(writer.export_block(kv, source, contents), run_error);
  EXPECT_THROW(writer.export_block(kv, source, {.first = 4, .tokens = 4, .chain = {}}), run_error);
}

}  // namespace
}  // namespace refrain
