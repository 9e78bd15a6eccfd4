// Routing: which executor serves a request. A policy sees each executor as the router does, which
// may be stale, and says beforehand what of it it reads: what nobody reads is not kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "policies/registry.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// One executor as the router sees it. What a policy did not declare in its needs is 0.
struct executor_view {
  std::int64_t outstanding_requests = 0;  ///< sent there and not answered yet
  token_count outstanding_tokens;         ///< their prompt and output tokens
  /// Leading blocks of this prompt that the router believes to be findable there (needs.matches).
  std::int64_t matched_blocks = 0;
  token_count matched_tokens;  ///< their tokens, at most the prompt's but one (needs.matches)
  /// Prompt tokens that were not matched, of requests sent there and without a first token
  /// (needs.progress).
  token_count prefill_tokens;
  /// Prompt tokens of requests sent there that have their first token and are not over
  /// (needs.progress).
  token_count decode_context;
};

/// The request to be placed.
struct routed_request {
  request_id id;
  session_id session;
  token_count input_tokens;
  bool last_turn = true;  ///< no later request belongs to this session
};

/// What a policy reads beyond outstanding work; a trace that lacks it stops the run with that
/// reason.
struct routing_needs {
  bool matches = false;   ///< executors tell what became findable and what was evicted
  bool progress = false;  ///< executors tell of first tokens
  bool sessions = false;  ///< conversations can be told
};

/// Interface of every routing policy.
class routing {
 public:
  virtual ~routing() = default;
  /// Index of the executor to send the request to; `executors` is not empty.
  virtual std::size_t choose(const routed_request& request,
                             std::span<const executor_view> executors) = 0;
};

/// The executor for which `load` is least, the first of equals.
template <class Load>
std::size_t least(std::span<const executor_view> executors, Load load) {
  auto found = std::min_element(
      executors.begin(), executors.end(),
      [&](const executor_view& a, const executor_view& b) { return load(a) < load(b); });
  return static_cast<std::size_t>(found - executors.begin());
}

/// A registered routing policy.
struct routing_entry {
  static constexpr std::string_view kind = "routing";

  policy_info info;
  std::function<std::unique_ptr<routing>(const parameters&)> make;
  routing_needs needs = {};
};

}  // namespace refrain
