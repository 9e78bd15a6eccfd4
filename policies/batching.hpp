// Batching: how large an iteration may grow and which waiting request enters next. Running requests
// come first in any case, in arrival order; a policy orders the waiting ones.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "policies/registry.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Interface of every batching policy.
class batching {
 public:
  virtual ~batching() = default;
  /// Tokens that one iteration computes at most.
  virtual token_count token_budget() const = 0;
  /// Requests that run at once at most.
  virtual std::int64_t max_sequences() const = 0;
};

/// A registered batching policy.
struct batching_entry {
  static constexpr std::string_view kind = "batching";

  policy_info info;
  std::function<std::unique_ptr<batching>(const parameters&)> make;
};

}  // namespace refrain
