// Reads hardware profiles from gpu/profiles, which are compiled in, or from a file of the same
// form. Every key is due except memory.activations, prefill_attention.tile_rows, all_reduce,
// host_link and peer_link.
#include "gpu/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>

#include "gpu/settings_file.hpp"
#include "traces/embedded.hpp"
#include "traces/error.hpp"
#include "traces/quantity.hpp"

namespace refrain {

std::span<const embedded_file> embedded_profiles();

namespace {

constexpr std::string_view known_keys[] = {"stack",
                                           "source",
                                           "not_fitted",
                                           "memory.bytes",
                                           "memory.activations",
                                           "gemm.launch_s",
                                           "gemm.bandwidth_bytes_per_s",
                                           "gemm.rate_flop_per_s",
                                           "gemm.sharpness",
                                           "prefill_attention.launch_s",
                                           "prefill_attention.bandwidth_bytes_per_s",
                                           "prefill_attention.rate_flop_per_s",
                                           "prefill_attention.sharpness",
                                           "prefill_attention.sweep_s_per_key",
                                           "prefill_attention.tile_fixed_keys",
                                           "prefill_attention.mixed_rows",
                                           "prefill_attention.tile_rows",
                                           "decode_attention.launch_s",
                                           "decode_attention.bandwidth_bytes_per_s",
                                           "decode_attention.s_per_sequence_head",
                                           "elementwise.launch_s",
                                           "elementwise.bandwidth_bytes_per_s",
                                           "host_link.theoretical_bytes_per_s",
                                           "host_link.measured_bytes_per_s",
                                           "peer_link.theoretical_bytes_per_s",
                                           "peer_link.measured_bytes_per_s"};
constexpr std::string_view open_tables[] = {"all_reduce"};
constexpr std::string_view linear_keys[] = {"launch_s", "bandwidth_bytes_per_s"};

gemm_numbers read_gemm(const settings_file& file) {
  return {.launch_s = file.number("gemm.launch_s", least::zero),
          .bandwidth_bytes_per_s = file.number("gemm.bandwidth_bytes_per_s"),
          .rate_flop_per_s = file.number("gemm.rate_flop_per_s"),
          .sharpness = file.number("gemm.sharpness", least::one)};
}

prefill_attention_numbers read_prefill_attention(const settings_file& file) {
  const prefill_attention_numbers standard;
  return {.launch_s = file.number("prefill_attention.launch_s", least::zero),
          .bandwidth_bytes_per_s = file.number("prefill_attention.bandwidth_bytes_per_s"),
          .rate_flop_per_s = file.number("prefill_attention.rate_flop_per_s"),
          .sharpness = file.number("prefill_attention.sharpness", least::one),
          .sweep_s_per_key = file.number("prefill_attention.sweep_s_per_key", least::zero),
          .tile_fixed_keys = file.number("prefill_attention.tile_fixed_keys", least::zero),
          .mixed_rows = file.number("prefill_attention.mixed_rows", least::zero),
          .tile_rows = file.has("prefill_attention.tile_rows")
                           ? file.number("prefill_attention.tile_rows", least::one)
                           : standard.tile_rows};
}

decode_attention_numbers read_decode_attention(const settings_file& file) {
  return {.launch_s = file.number("decode_attention.launch_s", least::zero),
          .bandwidth_bytes_per_s = file.number("decode_attention.bandwidth_bytes_per_s"),
          .s_per_sequence_head = file.number("decode_attention.s_per_sequence_head", least::zero)};
}

linear_numbers read_linear(const settings_file& file, const std::string& table) {
  return {.launch_s = file.number(table + ".launch_s", least::zero),
          .bandwidth_bytes_per_s = file.number(table + ".bandwidth_bytes_per_s")};
}

std::int64_t read_degree(const settings_file& file, const std::string& name) {
  std::int64_t degree = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), degree);
  if (error != std::errc{} || end != name.data() + name.size() || degree < 2) {
    file.fail("all_reduce." + name, "expected a tensor-parallel degree of at least 2");
  }
  return degree;
}

std::map<std::int64_t, linear_numbers> read_all_reduce(const settings_file& file) {
  std::map<std::int64_t, linear_numbers> degrees;
  for (const std::string& name : file.names_below("all_reduce")) {
    std::int64_t degree = read_degree(file, name);
    std::string table = "all_reduce." + name;
    for (const std::string& key : file.names_below(table)) {
      if (std::string_view{key} != linear_keys[0] && std::string_view{key} != linear_keys[1]) {
        file.fail(table + "." + key, unknown_name("key", key, linear_keys));
      }
    }
    degrees.emplace(degree, read_linear(file, table));
  }
  return degrees;
}

std::optional<link_bandwidth> read_link(const settings_file& file, const std::string& table) {
  if (!file.has(table)) {
    return std::nullopt;
  }
  link_bandwidth link{.theoretical_bytes_per_s = file.number(table + ".theoretical_bytes_per_s"),
                      .measured_bytes_per_s = std::nullopt};
  if (std::string key = table + ".measured_bytes_per_s"; file.has(key)) {
    link.measured_bytes_per_s = file.number(key);
  }
  return link;
}

byte_count read_activations(const settings_file& file) {
  try {
    return parse_bytes(file.text("memory.activations"));
  } catch (const std::invalid_argument& error) {
    file.fail("memory.activations", error.what());
  }
}

/// Keys and sections that copied or assumed values may be named by.
std::vector<std::string> read_not_fitted(const settings_file& file) {
  std::vector<std::string> names = file.texts("not_fitted");
  for (const std::string& name : names) {
    if (!file.has(name)) {
      std::vector<std::string_view> known{std::begin(known_keys) + 3, std::end(known_keys)};
      file.fail("not_fitted", unknown_name("key", name, known));
    }
  }
  return names;
}

}  // namespace

std::string this_machine_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') {
    return fmt::format("{}/refrain/{}.toml", cache, this_machine);
  }
  if (home != nullptr && *home != '\0') {
    return fmt::format("{}/.cache/refrain/{}.toml", home, this_machine);
  }
  throw input_error{std::string{this_machine}, "neither XDG_CACHE_HOME nor HOME is set"};
}

hardware_profile load_profile(const std::string& name) {
  bool is_own = name == this_machine;
  if (is_own && !std::filesystem::exists(this_machine_path())) {
    throw input_error{
        "hardware.gpu",
        fmt::format("this machine has not been measured yet; refrain calibrate writes "
                    "{}",
                    this_machine_path())};
  }
  settings_file file = find_settings("hardware profile", "hardware.gpu", "gpu/profiles",
                                     is_own ? this_machine_path() : name, embedded_profiles());
  file.allow_only(known_keys, open_tables);
  hardware_profile profile;
  profile.name = settings_name(name);
  profile.stack = file.text("stack");
  profile.source = file.text("source");
  profile.not_fitted = read_not_fitted(file);
  profile.memory = byte_count{file.count("memory.bytes")};
  if (file.has("memory.activations")) {
    profile.activations = read_activations(file);
  }
  profile.gemm = read_gemm(file);
  profile.prefill_attention = read_prefill_attention(file);
  profile.decode_attention = read_decode_attention(file);
  profile.elementwise = read_linear(file, "elementwise");
  profile.all_reduce = read_all_reduce(file);
  profile.host_link = read_link(file, "host_link");
  profile.peer_link = read_link(file, "peer_link");
  return profile;
}

std::string profile_text(const hardware_profile& profile, std::string_view comment) {
  std::string text = fmt::format("# {}\nstack = \"{}\"\nsource = \"{}\"\n", comment, profile.stack,
                                 profile.source);
  text += "not_fitted = [";
  for (const std::string& name : profile.not_fitted) {
    text += fmt::format("{}\"{}\"", &name == profile.not_fitted.data() ? "" : ", ", name);
  }
  text += fmt::format("]\n\n[memory]\nbytes = {}\nactivations = \"{}B\"\n", profile.memory.get(),
                      profile.activations.get());
  auto table = [&text](std::string_view name) { text += fmt::format("\n[{}]\n", name); };
  auto number = [&text](std::string_view key, double value) {
    text += fmt::format("{} = {:.6e}\n", key, value);
  };
  table("gemm");
  number("launch_s", profile.gemm.launch_s);
  number("bandwidth_bytes_per_s", profile.gemm.bandwidth_bytes_per_s);
  number("rate_flop_per_s", profile.gemm.rate_flop_per_s);
  number("sharpness", profile.gemm.sharpness);
  table("prefill_attention");
  number("launch_s", profile.prefill_attention.launch_s);
  number("bandwidth_bytes_per_s", profile.prefill_attention.bandwidth_bytes_per_s);
  number("rate_flop_per_s", profile.prefill_attention.rate_flop_per_s);
  number("sharpness", profile.prefill_attention.sharpness);
  number("sweep_s_per_key", profile.prefill_attention.sweep_s_per_key);
  number("tile_fixed_keys", profile.prefill_attention.tile_fixed_keys);
  number("mixed_rows", profile.prefill_attention.mixed_rows);
  number("tile_rows", profile.prefill_attention.tile_rows);
  table("decode_attention");
  number("launch_s", profile.decode_attention.launch_s);
  number("bandwidth_bytes_per_s", profile.decode_attention.bandwidth_bytes_per_s);
  number("s_per_sequence_head", profile.decode_attention.s_per_sequence_head);
  table("elementwise");
  number("launch_s", profile.elementwise.launch_s);
  number("bandwidth_bytes_per_s", profile.elementwise.bandwidth_bytes_per_s);
  if (profile.host_link) {
    table("host_link");
    number("theoretical_bytes_per_s", profile.host_link->theoretical_bytes_per_s);
    number("measured_bytes_per_s", profile.host_link->measured_bytes_per_s.value_or(
                                       profile.host_link->theoretical_bytes_per_s));
  }
  return text;
}

std::vector<std::string> profile_names() {
  return sorted_names(embedded_profiles());
}

}  // namespace refrain
