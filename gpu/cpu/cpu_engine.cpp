#include "gpu/cpu/cpu_engine.hpp"

#include <ctime>
#include <numeric>
#include <string>

#include "gpu/sampling.hpp"
#include "traces/error.hpp"

namespace refrain {

sim_time thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

cpu_engine::cpu_engine(std::shared_ptr<const llama_weights> weights, cpu_precision precision,
                       std::int64_t blocks, std::int64_t block_tokens, sim_time host_overhead,
                       std::function<bool()> goes_on)
    : decoder_{std::move(weights), precision, blocks, block_tokens, std::move(goes_on)},
      host_overhead_{host_overhead} {}

sim_time cpu_engine::iteration(const batch& work) {
  REFRAIN_ASSERT(!work.sequences.empty());
  sim_time begin = thread_time();
  std::vector<std::vector<std::int64_t>> positions;
  std::vector<decoder_piece> pieces;
  positions.reserve(work.sequences.size());
  for (const sequence_work& each : work.sequences) {
    std::vector<std::int64_t>& at = positions.emplace_back(each.tokens.size());
    std::iota(at.begin(), at.end(), each.cached_tokens);
    pieces.push_back(
        {each.tokens, at, each.blocks, each.emits ? decoder_piece::last : decoder_piece::none});
  }
  std::span<const float> logits = decoder_.forward(pieces);
  emitted_.clear();
  auto vocabulary = static_cast<std::size_t>(decoder_.weights().shape.vocabulary);
  for (; !logits.empty(); logits = logits.subspan(vocabulary)) {
    auto row = logits.first(vocabulary);
    emitted_.push_back(greedy(row, "the CPU engine, answer " + std::to_string(emitted_.size())));
  }
  return thread_time() - begin + host_overhead_;
}

decode_line cpu_engine::decode(std::int64_t) {
  REFRAIN_ASSERT(!"a line of times that are not known yet");
  return {};
}

}  // namespace refrain
