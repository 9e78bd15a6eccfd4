// Makes a plug-in of a policy's file: refrain_add_policy has the compiler read this first (g++
// -include policies/plugin_marker.hpp), and nothing else may. It leaves in the library what the
// program looks for before it loads it.
#pragma once

#include "policies/plugin_abi.hpp"

namespace refrain {

/// Exported, so that no linker drops it.
[[gnu::used, gnu::visibility("default")]] inline constexpr plugin_abi plugin_marker =
    make_plugin_abi();

}  // namespace refrain
