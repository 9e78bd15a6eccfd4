// Any bytes as an exported KV block. Whatever they are, import says which of three things they are,
// counts it, and writes nothing but a block that gives the same bytes when it is exported again.
// Each input is tried as it is and with the checksum that it should have, else a fuzzer would not
// get past it.
#include <xxhash.h>

#include <cstring>
#include <vector>

#include "gpu/kv_bytes.hpp"
#include "traces/error.hpp"

namespace {

using namespace refrain;

constexpr block_id target{1};

llama_weights model() {
  llama_weights weights;
  weights.shape.layers = 2;
  weights.shape.kv_heads = 1;
  weights.shape.head_size = 4;
  weights.shape.rotary_size = 4;
  weights.fingerprint = {0x0123456789ABCDEF, 0xFEDCBA9876543210};
  return weights;
}

std::vector<std::byte> bytes_of_store(const kv_store& kv) {
  std::vector<std::byte> out;
  for (std::uint32_t i = 0; i < kv.blocks(); ++i) {
    auto block = kv.block(block_id{i});
    out.insert(out.end(), block.begin(), block.end());
  }
  return out;
}

/// Whether a byte outside of the target block changed.
bool spilt(const std::vector<std::byte>& before, const std::vector<std::byte>& after) {
  std::size_t size = before.size() / 3;
  return std::memcmp(before.data(), after.data(), size) != 0 ||
         std::memcmp(before.data() + 2 * size, after.data() + 2 * size, size) != 0;
}

void try_import(std::span<const std::byte> bytes, kv_type type, std::int64_t tokens) {
  const kv_layout layout = layout_of(model().shape, 4, type);
  kv_store kv{layout, 3};
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::memset(kv.block(block_id{i}).data(), 0x5A, kv.block(block_id{i}).size());
  }
  auto before = bytes_of_store(kv);
  token_chain chain{0};
  chain.add(std::vector<token_id>{1, 2, 3});
  kv_block_contents wanted{.first = 4, .tokens = tokens, .chain = chain.tokens()};
  kv_bytes reader{model(), "fp32", layout};
  kv_import outcome = reader.import_block(bytes, wanted, kv, target);
  auto after = bytes_of_store(kv);
  const kv_import_counts& counts = reader.counts();
  REFRAIN_ASSERT(counts.imported == (outcome == kv_import::imported));
  REFRAIN_ASSERT(counts.misses == (outcome == kv_import::miss));
  REFRAIN_ASSERT(counts.damaged == (outcome == kv_import::damaged));
  REFRAIN_ASSERT(!spilt(before, after));
  if (outcome == kv_import::imported) {
    auto again = reader.export_block(kv, target, wanted);
    REFRAIN_ASSERT(again.size() == bytes.size() &&
                   std::memcmp(again.data(), bytes.data(), bytes.size()) == 0);
  } else {
    REFRAIN_ASSERT(after == before && !kv.computed_at(target, 0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) {
    std::memcpy(bytes.data(), data, size);
  }
  for (bool with_checksum : {false, true}) {
    if (with_checksum && size >= 8) {
      std::uint64_t sum = XXH3_64bits(bytes.data(), size - 8);
      std::memcpy(bytes.data() + size - 8, &sum, 8);
    }
    for (kv_type type : {kv_type::fp32, kv_type::bf16}) {
      for (std::int64_t tokens : {3, 4}) {
        try_import(bytes, type, tokens);
      }
    }
  }
  return 0;
}
