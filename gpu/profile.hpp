// What one GPU can do: memory, links, and the fitted numbers of the cost model's formula, each set
// with the software stack its kernels were measured with, since the stack matters more than the
// formula. One file per GPU in gpu/profiles, SI units throughout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// A matrix product: launch + smooth maximum of bytes / bandwidth and FLOPs / rate.
struct gemm_numbers {
  double launch_s = 0;
  double bandwidth_bytes_per_s = 0;
  double rate_flop_per_s = 0;
  double sharpness = 1;  ///< exponent of the smooth maximum, at least 1
};

/// Attention of a batch with any prefill in it, one launch a layer.
struct prefill_attention_numbers {
  double launch_s = 0;
  double bandwidth_bytes_per_s = 0;
  double rate_flop_per_s = 0;  ///< at head size 128
  double sharpness = 1;        ///< exponent of the smooth maximum, at least 1
  double sweep_s_per_key = 0;  ///< serial sweep of one tile over the longest sequence
  double tile_fixed_keys = 0;  ///< fixed work of a tile, in keys
  double mixed_rows = 0;       ///< tile rows one decoding sequence takes in a mixed launch
  double tile_rows = 128;  ///< new tokens that are computed as one; a part of them costs as much
};

/// Attention of a decode-only batch, one launch a layer.
struct decode_attention_numbers {
  double launch_s = 0;
  double bandwidth_bytes_per_s = 0;
  double s_per_sequence_head = 0;  ///< per sequence and query head of the rank
};

/// A fixed cost and a bandwidth: elementwise kernels of a layer, or one all-reduce.
struct linear_numbers {
  double launch_s = 0;
  double bandwidth_bytes_per_s = 0;
};

/// Bandwidth of a link in one direction; `measured` is absent where nobody measured it.
struct link_bandwidth {
  double theoretical_bytes_per_s = 0;
  std::optional<double> measured_bytes_per_s;
};

/// One GPU with one software stack.
struct hardware_profile {
  std::string name;
  std::string stack;                    ///< the software the kernels were measured with
  std::string source;                   ///< where the measurements come from
  std::vector<std::string> not_fitted;  ///< keys or sections copied, scaled or assumed
  byte_count memory;
  byte_count activations{1'240'000'000};  ///< held by activations and the runtime while serving
  gemm_numbers gemm;
  prefill_attention_numbers prefill_attention;
  decode_attention_numbers decode_attention;
  linear_numbers elementwise;
  std::map<std::int64_t, linear_numbers> all_reduce;  ///< by tensor-parallel degree; may be empty
  std::optional<link_bandwidth> host_link;
  std::optional<link_bandwidth> peer_link;
};

/// The name of the profile that `refrain calibrate` writes.
inline constexpr std::string_view this_machine = "this-machine";
/// Where it is: refrain/this-machine.toml in the user's cache folder (XDG_CACHE_HOME, else
/// ~/.cache). Throws input_error where there is no such folder.
std::string this_machine_path();

/// The profile of that name, of that file when it ends in ".toml", or this machine's. Throws
/// input_error.
hardware_profile load_profile(const std::string& name);

/// The profile as a file that load_profile reads, with a line of `comment` before it.
std::string profile_text(const hardware_profile& profile, std::string_view comment);

/// The names of all profiles compiled in, sorted.
std::vector<std::string> profile_names();

}  // namespace refrain
