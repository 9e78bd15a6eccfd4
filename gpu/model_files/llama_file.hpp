// Decoders of the Llama family from model files, and a small one made up from a seed that needs no
// file. Names of keys and tensors are those of GGUF files of architecture llama, which hold the
// rows of queries and keys in the order that rotates adjacent pairs. Refused: experts, scaled
// rotary angles (a table of divisors is read), biases of other matrices than query, key and value,
// and every tensor that the decoder would not use.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/model_files/gguf_file.hpp"
#include "gpu/weights.hpp"

namespace refrain {

/// The seeded model's name.
inline constexpr std::string_view tiny_name = "builtin:tiny";

/// The weights in a GGUF file; reads all of it once, for the fingerprint. Throws input_error naming
/// the file and the key or tensor that is missing, of wrong dims or of no use here.
llama_weights load_llama(const std::string& path);
/// The same of a file that is open.
llama_weights load_llama(const gguf_file& file);

/// Three layers of 128 with random weights in F32 and Q8_0 over a vocabulary of `tiny_vocabulary`,
/// equal for equal seeds on every machine. What it says means nothing; how it is computed does.
llama_weights tiny_llama(std::uint64_t seed);

/// A token for each byte, then <|endoftext|>, <|im_start|> and <|im_end|>.
inline constexpr std::int64_t tiny_vocabulary = 256 + 3;

/// "builtin:tiny" (seed 0) or the path of a GGUF file, ending in .gguf. Throws input_error.
llama_weights load_weights(const std::string& name_or_path);

/// Throws input_error unless it ends in .gguf; the message names what a model with weights may be.
void check_model_path(const std::string& path);

/// 128 bits of XXH3 over the shape and over encoding, dims and bytes of all weights, in a fixed
/// order: what weights' `fingerprint` holds.
std::array<std::uint64_t, 2> fingerprint_of_weights(const llama_weights& weights);

/// Weights in a matrix or all of the model's, norms and biases included; a tied embedding counts
/// once.
std::int64_t parameters_of(const llama_weights& weights);

}  // namespace refrain
