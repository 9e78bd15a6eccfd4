// Routing: which executor serves a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "policies/registry.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// One executor as the router sees it.
struct executor_view {
  std::int64_t outstanding_requests = 0;  ///< sent there and not answered yet
  token_count outstanding_tokens;         ///< their prompt and output tokens
};

/// The request to be placed.
struct routed_request {
  request_id id;
  session_id session;
  token_count input_tokens;
};

/// Interface of every routing policy.
class routing {
 public:
  virtual ~routing() = default;
  /// Index of the executor to send the request to; `executors` is not empty.
  virtual std::size_t choose(const routed_request& request,
                             std::span<const executor_view> executors) = 0;
};

/// A registered routing policy.
struct routing_entry {
  static constexpr std::string_view kind = "routing";

  policy_info info;
  std::unique_ptr<routing> (*make)(const parameters&);
};

}  // namespace refrain
