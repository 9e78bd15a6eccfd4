// `refrain calibrate`: measures this machine's CPU with a model and writes a hardware profile, so
// that the cost model can stand for the engine that computes.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <span>

#include "actors/contender.hpp"
#include "analysis/durable_file.hpp"
#include "gpu/cpu/calibration.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "scenarios/stop_on_signal.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

std::int64_t memory_of_machine() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

/// Before minutes of measuring: the folder of the default place is made, that of a place somebody
/// names must be there, and a file can be written in it.
void prepare_place(const std::string& path, bool is_default) {
  if (is_default) {
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), ignored);
  }
  std::string probe = path + ".probe";
  try {
    write_whole_file(probe, {});
  } catch (const run_error&) {
    throw input_error{path, "cannot be written; expected a folder that is there and can be"};
  }
  std::filesystem::remove(probe);
}

std::vector<timed_batch> times_of(const std::shared_ptr<const llama_weights>& weights,
                                  cpu_precision precision) {
  try {
    return time_batches(weights, precision, [] { return !stop_on_signal::asked(); });
  } catch (const computing_stopped&) {
    throw interrupted{};
  }
}

void print_fit(const hardware_profile& profile, const fit_errors& errors, std::size_t batches,
               const std::string& path) {
  std::cout << fmt::format("{}\n", profile.stack);
  std::cout << fmt::format(
      "linear layers    {:.4g} GFLOP/s, weights at {:.3g} GB/s (2 bytes each)\n",
      profile.gemm.rate_flop_per_s / 1e9, profile.gemm.bandwidth_bytes_per_s / 1e9);
  std::cout << fmt::format(
      "attention        {:.4g} GFLOP/s in prefill, keys at {:.3g} GB/s in decode\n",
      profile.prefill_attention.rate_flop_per_s / 1e9,
      profile.decode_attention.bandwidth_bytes_per_s / 1e9);
  std::cout << fmt::format("copies of KV     {:.3g} GB/s\n",
                           *profile.host_link->measured_bytes_per_s / 1e9);
  std::cout << fmt::format(
      "The formula is off by {:.1f}% on average over {} batches, by {:.1f}% at p90, {:.1f}% at "
      "most.\n",
      100 * errors.mean, batches, 100 * errors.p90, 100 * errors.worst);
  std::cout << "Profile: " << path << "\n";
}

}  // namespace

void calibrate_command(const std::vector<std::string>& words) {
  arguments given{"calibrate",
                  "calibrate [--model MODEL] [--precision NAME] [-o FILE.toml] [--json]",
                  "Measures how fast this machine computes with a model, and writes a hardware "
                  "profile for the cost model, which scenarios name \"this-machine\"."};
  given.option("model", "MODEL", "builtin:tiny (standard), or the path of a GGUF file");
  given.option("precision", "NAME", "fp32 (standard), fp32_fast, bf16 or int8");
  given.option("output,o", "FILE.toml", "the profile; else this machine's, in the cache folder");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  std::string name = given.has("model") ? given.one("model") : std::string{tiny_name};
  std::string precision = given.has("precision") ? given.one("precision") : "fp32";
  std::string path = given.has("output") ? given.one("output") : this_machine_path();
  if (!path.ends_with(".toml")) {
    throw input_error{"-o " + path, "expected a name that ends in .toml"};
  }
  cpu_precision how = precision_of(precision, "--precision");
  auto weights = std::make_shared<const llama_weights>(load_weights(name));
  prepare_place(path, !given.has("output"));
  stop_on_signal signals{"refrain: interrupted; nothing was written\n", ""};
  std::vector<timed_batch> times = times_of(weights, how);
  fit_errors errors;
  hardware_profile profile = fit_profile(times, *weights, errors);
  profile.stack = fmt::format("refrain's CPU engine, {}, {}", precision, weights->name);
  profile.source = fmt::format("{} batches timed by refrain calibrate", times.size());
  profile.memory = byte_count{memory_of_machine()};
  profile.activations = byte_count{100'000'000};
  double copies = time_copies(layout_of(weights->shape, 16, kv_type::fp32));
  profile.host_link = {copies, copies};
  profile.not_fitted.emplace_back("memory.activations");
  profile.not_fitted.emplace_back("host_link.theoretical_bytes_per_s");
  std::string text = profile_text(profile, "One core of this machine as the cost model sees it.");
  write_whole_file(path, std::as_bytes(std::span{text}));
  if (given.has("json")) {
    print_json({{"profile", path},
                {"stack", profile.stack},
                {"batches", times.size()},
                {"mean_error", errors.mean},
                {"p90_error", errors.p90},
                {"worst_error", errors.worst}});
  } else {
    print_fit(profile, errors, times.size(), path);
  }
}

}  // namespace refrain
