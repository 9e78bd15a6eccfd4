#include "tests/bench/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "gpu/cpu/decoder.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "policies/replay.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr std::size_t prompt_tokens = 512;
constexpr std::size_t cached_tokens = 448;
constexpr std::size_t decoded_tokens = 128;
constexpr std::int64_t block_tokens = 16;

/// One sequence of random tokens, in blocks of its own.
class bench_sequence {
 public:
  explicit bench_sequence(cpu_decoder& decoder) : decoder_{decoder} {
    random_stream random{1, "bench"};
    auto vocabulary = static_cast<std::uint64_t>(decoder.weights().shape.vocabulary);
    for (std::size_t i = 0; i < prompt_tokens; ++i) {
      tokens_.push_back(static_cast<token_id>(random.below(vocabulary)));
      positions_.push_back(static_cast<std::int64_t>(i));
      blocks_.push_back(block_id{static_cast<std::uint32_t>(i / block_tokens)});
    }
    blocks_.erase(std::unique(blocks_.begin(), blocks_.end()), blocks_.end());
  }

  /// CPU seconds of tokens `from` to `to` - 1 in one piece.
  double prefill(std::size_t from, std::size_t to) {
    double begin = thread_seconds();
    compute(from, to);
    return thread_seconds() - begin;
  }

  /// CPU seconds of so many tokens, one after the other, from an empty cache on.
  double decode(std::size_t count) {
    double begin = thread_seconds();
    for (std::size_t i = 0; i < count; ++i) {
      compute(i, i + 1);
    }
    return thread_seconds() - begin;
  }

 private:
  void compute(std::size_t from, std::size_t to) {
    decoder_piece piece{.tokens = std::span{tokens_}.subspan(from, to - from),
                        .positions = std::span{positions_}.subspan(from, to - from),
                        .blocks = blocks_};
    decoder_.forward({&piece, 1});
  }

  cpu_decoder& decoder_;
  std::vector<token_id> tokens_;
  std::vector<std::int64_t> positions_;
  std::vector<block_id> blocks_;
};

double best_of_three(const std::function<double()>& seconds) {
  return std::min({seconds(), seconds(), seconds()});
}

}  // namespace

void bench_engine(std::span<const std::string_view> words) {
  auto file = std::ranges::find_if(words, [](std::string_view w) { return w.ends_with(".gguf"); });
  auto weights = std::make_shared<llama_weights>(
      load_weights(std::string{file == words.end() ? tiny_name : *file}));
  std::printf("\n%s, one thread, CPU time: tokens/s, and 64 tokens on 448 cached by all 512\n",
              weights->name.c_str());
  std::printf("%-10s %10s %10s %10s\n", "precision", "pp512", "tg128", "suffix");
  using enum cpu_precision;
  const std::vector all{fp32, fp32_fast, bf16, int8};
  auto is_named = [&](cpu_precision p) { return std::ranges::count(words, name_of(p)) > 0; };
  bool any_named = std::ranges::any_of(all, is_named);
  for (cpu_precision precision : all) {
    bool here = avx512_features() || precision == fp32 || precision == fp32_fast;
    if (!here || (any_named && !is_named(precision))) {
      continue;
    }
    cpu_decoder decoder{weights, precision, prompt_tokens / block_tokens, block_tokens};
    bench_sequence sequence{decoder};
    sequence.prefill(0, prompt_tokens);  // memory is touched, kernels are made
    double whole = best_of_three([&] { return sequence.prefill(0, prompt_tokens); });
    double suffix = best_of_three([&] { return sequence.prefill(cached_tokens, prompt_tokens); });
    double decode = best_of_three([&] { return sequence.decode(decoded_tokens); });
    std::printf("%-10s %10.1f %10.1f %10.3f\n", std::string{name_of(precision)}.c_str(),
                static_cast<double>(prompt_tokens) / whole,
                static_cast<double>(decoded_tokens) / decode, suffix / whole);
  }
}

}  // namespace refrain
