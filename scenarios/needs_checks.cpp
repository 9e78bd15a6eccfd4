#include "scenarios/needs_checks.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace refrain {

void check_sessions(const scenario_settings& settings, const trace_info& info, std::string_view key,
                    const policy_choice& policy, bool needed) {
  if (needed && !info.has_sessions) {
    throw input_error{settings.where(key),
                      fmt::format("\"{}\" needs sessions, and this trace has none", policy.name)};
  }
}

void check_told(const scenario_settings& settings, const trace_info& info,
                const policy_choice& policy, const eviction_needs& needs) {
  constexpr std::string_view key = "policies.eviction";
  check_sessions(settings, info, key, policy, needs.sessions || needs.categories);
  auto lacks = [&](const char* what) {
    return input_error{settings.where(key), fmt::format("\"{}\" needs {}", policy.name, what)};
  };
  if (needs.hints && !info.has_hints) {
    throw lacks("retention hints, and this trace has none");
  }
  if (needs.steps && !info.has_steps) {
    throw lacks("the step graph of a workflow, and this trace has none");
  }
}

}  // namespace refrain
