// Reuse: how much of what is cached a request takes. A policy is asked when the request enters the
// batch and again when it resumes after preemption; it sees counts only, the executor holds the
// blocks.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "policies/registry.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// What could be reused: the leading run of the prompt that is resident.
struct reuse_offer {
  token_count input_tokens;
  std::int64_t leading_blocks = 0;  ///< resident blocks before the first gap
  token_count leading_tokens;       ///< their tokens
};

/// Interface of every reuse policy.
class reuse {
 public:
  virtual ~reuse() = default;
  /// Whether computed blocks become findable by other requests at all.
  virtual bool shares() const = 0;
  /// How many of the leading blocks to take, at most offer.leading_blocks.
  virtual std::int64_t plan(const reuse_offer& offer) = 0;
};

/// A registered reuse policy.
struct reuse_entry {
  static constexpr std::string_view kind = "reuse";

  policy_info info;
  std::function<std::unique_ptr<reuse>(const parameters&)> make;
};

}  // namespace refrain
