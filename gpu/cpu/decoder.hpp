// A Llama-family decoder on the CPU: tokens in, KV blocks filled, logits out. One forward pass
// takes any number of sequences, each with any number of new tokens over what its blocks hold
// already: prefill, a chunk of it, a suffix on cached blocks, decode of a batch and recomputing
// chosen tokens are all this one call.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/large_pages.hpp"
#include "gpu/cpu/linear.hpp"
#include "gpu/kv_store.hpp"
#include "gpu/weights.hpp"

namespace refrain {

/// How numbers are computed. Every result of a real run says which.
enum class cpu_precision {
  fp32,       ///< the reference: Eigen, the same bits on every CPU
  fp32_fast,  ///< linear layers by oneDNN, the rest as the reference
  bf16,       ///< bf16 with sums in fp32, few rows from quantised weights; needs avx512_features()
  int8,       ///< activations rounded to 8 bits for quantised weights, the rest as bf16
};

std::string_view name_of(cpu_precision precision);
/// The precision of that name; throws input_error at `where` if there is none or this CPU lacks it.
cpu_precision precision_of(std::string_view name, const std::string& where);

/// New tokens of one sequence.
struct decoder_piece {
  std::span<const token_id> tokens;
  /// Position of each token, ascending. A token sees keys 0 .. its position, all of which are in
  /// the blocks or among the tokens of this piece.
  std::span<const std::int64_t> positions;
  /// The sequence's blocks, from position 0 on, enough for the last position.
  std::span<const block_id> blocks;
  /// Which of the tokens' next-token logits are wanted.
  enum { none, last, all } logits = last;
};

/// Thrown by a decoder that was told to stop; what it was computing is lost.
struct computing_stopped : std::exception {
  const char* what() const noexcept override { return "computing was stopped"; }
};

/// A model with its KV blocks; used by one thread at a time.
class cpu_decoder {
 public:
  /// Packs the weights. `blocks` blocks of `block_tokens` tokens hold the KV. Requires this CPU to
  /// have what the precision needs. `goes_on` is asked several times in each layer, of weights that
  /// are packed and of tokens; once it says no, computing_stopped is thrown.
  cpu_decoder(std::shared_ptr<const llama_weights> weights, cpu_precision precision,
              std::int64_t blocks, std::int64_t block_tokens,
              std::function<bool()> goes_on = nullptr);

  const llama_weights& weights() const { return *weights_; }
  cpu_precision precision() const { return precision_; }
  kv_store& kv() { return kv_; }

  /// Computes all pieces; their sequences differ or do not see each other's new tokens. Returns the
  /// wanted logits, [row][vocabulary] in the order of the pieces; valid until the next call.
  std::span<const float> forward(std::span<const decoder_piece> pieces);

 private:
  struct layer {
    std::unique_ptr<linear> query_key_value, output, gate_and_up, down;
    std::vector<float> biases;  ///< of queries, keys and values; empty if there are none
  };
  /// Rows of one pass: consecutive rows of the batch that belong to one sequence.
  struct pass {
    std::vector<token_id> tokens;
    std::vector<std::int64_t> positions;
    std::vector<attention_rows> sequences;
    std::vector<std::int64_t> wanted;  ///< rows
    void add(const decoder_piece& piece, std::size_t from, std::size_t count);
  };

  void stop_if_told() const;
  void run(const pass& rows);
  void embed(const pass& rows);
  void set_angles(const pass& rows);
  void attend(const pass& rows, std::int64_t index);
  void add_output(const pass& rows);

  std::shared_ptr<const llama_weights> weights_;
  cpu_precision precision_;
  std::function<bool()> goes_on_;
  const decoder_kernels& kernels_;
  kv_store kv_;
  std::pmr::monotonic_buffer_resource packed_{&large_pages()};  ///< weights of the layers below
  std::vector<layer> layers_;
  std::unique_ptr<linear> output_;
  std::vector<double> frequencies_;  ///< [rotary_size / 2], radians a position
  std::vector<float> hidden_, normed_, projected_, attended_, added_, wide_, gated_;
  std::vector<rotation> angles_;  ///< [row][rotary_size / 2]
  std::vector<float> logits_;
};

}  // namespace refrain
