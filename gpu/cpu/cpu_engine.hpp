// The engine that computes: each iteration runs the model over the batch, and takes as long as that
// took. Time is the computing thread's processor time, so what else the machine does hardly counts.
#pragma once

#include <memory>
#include <vector>

#include "gpu/cpu/decoder.hpp"
#include "gpu/engine.hpp"

namespace refrain {

/// One executor's model, KV and clock. Answers are greedy: of equal logits the first.
class cpu_engine final : public engine {
 public:
  /// As cpu_decoder. `host_overhead` is added to every iteration.
  cpu_engine(std::shared_ptr<const llama_weights> weights, cpu_precision precision,
             std::int64_t blocks, std::int64_t block_tokens, sim_time host_overhead,
             std::function<bool()> goes_on);

  sim_time iteration(const batch& work) override;
  decode_line decode(std::int64_t sequences) override;
  bool has_lines() const override { return false; }
  bool computes_tokens() const override { return true; }
  std::span<const token_id> emitted() const override { return emitted_; }

 private:
  cpu_decoder decoder_;
  sim_time host_overhead_;
  std::vector<token_id> emitted_;
};

/// Processor time of this thread.
sim_time thread_time();

}  // namespace refrain
