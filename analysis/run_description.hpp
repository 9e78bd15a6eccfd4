// What a result file says about the run it came from: enough to repeat it, and nothing that differs
// between two repeats (no host, no wall time, no job count).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain {

/// A resolved setting: dotted key and its value as text.
using setting = std::pair<std::string, std::string>;

/// One contender: its name and every setting resolved for it.
struct contender_description {
  std::string name;
  std::vector<setting> parameters;
};

/// A setting of a contender by its key; "" where it has none.
inline std::string setting_of(const contender_description& contender, std::string_view key) {
  auto found = std::ranges::find(contender.parameters, key, &setting::first);
  return found == contender.parameters.end() ? std::string{} : found->second;
}

/// One run: its scenario as written, where its numbers come from, and its contenders in order.
struct run_description {
  std::string name;
  std::string scenario;
  std::uint64_t seed = 0;
  std::string version;
  std::string commit;
  std::string trace_sha256;
  std::vector<setting> parameters;
  std::vector<contender_description> contenders;
};

}  // namespace refrain
