// What a plug-in and the program must agree on before a line of the plug-in may run: the text of
// the headers, and everything beside it that changes how objects lie in memory. Each plug-in
// carries a `plugin_abi` (plugin_marker.hpp); the program looks for it in the file's bytes, since
// loading a library already runs code in it.
#pragma once

#include <absl/base/config.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "policies/admission.hpp"
#include "policies/batching.hpp"
#include "policies/plugin_headers.hpp"
#include "policies/replay_loop.hpp"
#include "policies/reuse.hpp"
#include "policies/routing.hpp"

namespace refrain {

/// One thing to agree on.
struct plugin_fact {
  std::string_view name;
  std::uint32_t value;
};

#ifdef __SANITIZE_ADDRESS__
#define REFRAIN_PLUGIN_ADDRESS 1
#else
#define REFRAIN_PLUGIN_ADDRESS 0
#endif
#ifdef __SANITIZE_THREAD__
#define REFRAIN_PLUGIN_THREAD 1
#else
#define REFRAIN_PLUGIN_THREAD 0
#endif
#ifdef _GLIBCXX_DEBUG
#define REFRAIN_PLUGIN_CONTAINERS 1
#else
#define REFRAIN_PLUGIN_CONTAINERS 0
#endif

/// The facts of whoever includes this.
inline constexpr plugin_fact plugin_facts[] = {
    {"the interface's version", 1},
    {"_GLIBCXX_RELEASE", _GLIBCXX_RELEASE},
    {"_GLIBCXX_USE_CXX11_ABI", _GLIBCXX_USE_CXX11_ABI},
    {"_GLIBCXX_DEBUG", REFRAIN_PLUGIN_CONTAINERS},
    {"Abseil's release", ABSL_LTS_RELEASE_VERSION},
    {"AddressSanitizer", REFRAIN_PLUGIN_ADDRESS},
    {"ThreadSanitizer", REFRAIN_PLUGIN_THREAD},
    {"REFRAIN_DEBUG_CHECKS", refrain_debug_checks ? 1 : 0},
    {"the size of a pointer", sizeof(void*)},
    {"the size of long double", sizeof(long double)},
    {"the size of policy_info", sizeof(policy_info)},
    {"the size of parameter", sizeof(parameter)},
    {"the size of parameters", sizeof(parameters)},
    {"the size of future", sizeof(future)},
    {"the size of entry_view", sizeof(entry_view)},
    {"the size of request_view", sizeof(request_view)},
    {"the size of eviction_setup", sizeof(eviction_setup)},
    {"the size of eviction_needs", sizeof(eviction_needs)},
    {"the size of eviction_entry", sizeof(eviction_entry)},
    {"the size of admission_entry", sizeof(admission_entry)},
    {"the size of reuse_entry", sizeof(reuse_entry)},
    {"the size of batching_entry", sizeof(batching_entry)},
    {"the size of routing_entry", sizeof(routing_entry)},
    {"the size of executor_view", sizeof(executor_view)},
    {"the size of access_columns", sizeof(access_columns)},
    {"the size of replay_result", sizeof(replay_result)}};

/// What lies in a plug-in's file. The layout up to `headers` never changes.
struct plugin_abi {
  char magic[32];
  char headers[64];
  std::uint32_t facts[std::size(plugin_facts)];
};

/// That of whoever includes this.
constexpr plugin_abi make_plugin_abi() {
  plugin_abi abi{"\x7f\x01refrain plug-in", REFRAIN_PLUGIN_HEADERS, {}};
  for (std::size_t i = 0; i < std::size(plugin_facts); ++i) {
    abi.facts[i] = plugin_facts[i].value;
  }
  return abi;
}

}  // namespace refrain
