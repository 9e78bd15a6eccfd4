// The engine on the CPU: prefill, decode, and a suffix on cached blocks.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace refrain {

/// Prints a row per precision that this CPU has, or per one named among `words`, on the model file
/// among `words` (builtin:tiny if there is none).
void bench_engine(std::span<const std::string_view> words);

}  // namespace refrain
