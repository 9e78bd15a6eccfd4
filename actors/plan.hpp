// What a contender's actors are made from: everything a scenario says, resolved to values. Whoever
// fills these in has checked them; actors only assert.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gpu/model.hpp"
#include "gpu/profile.hpp"
#include "policies/future.hpp"
#include "policies/parameters.hpp"
#include "traces/keys.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A policy by name with its checked parameters.
struct policy_choice {
  std::string name;
  parameters values;
};

/// The workload: the same for every contender, each of which opens it anew.
struct workload_plan {
  std::function<std::unique_ptr<source>()> open;
  trace_info info;
  std::uint64_t requests = 0;  ///< how many the source gives
  bool serial = false;         ///< the next request only after the last is done
};

/// How many routers there are and how soon they know what executors hold.
struct router_plan {
  std::int64_t count = 1;
  sim_time delay{0};   ///< from a change in an executor to every router
  sim_time poll{0};    ///< changes are asked for this often; 0: told at once
  bool watch = false;  ///< they are told what executors hold even where the policy does not ask
};

/// One contender: hardware, memory and policies.
struct contender_plan {
  std::string name;
  std::uint64_t seed = 0;

  model_shape model;
  hardware_profile gpu;
  std::int64_t executors = 1;        ///< GPUs / tensor_parallel
  std::int64_t tensor_parallel = 1;  ///< GPUs in one executor
  sim_time host_overhead{0};         ///< per iteration

  key_scheme keys;
  std::int64_t blocks = 0;  ///< KV blocks of one executor
  std::uint32_t slots =
      0;  ///< findable blocks at once, at most: min(blocks, all keys of the workload)

  policy_choice reuse;
  policy_choice eviction;
  policy_choice batching;
  policy_choice routing;
  router_plan routers;
  std::shared_ptr<const future> ahead;  ///< set where the eviction policy needs the future

  sim_time retrieval_latency{0};
  bool fast_forward = true;  ///< advance identical iterations together; same results either way
  sim_time sample_every{10'000'000'000};  ///< between two rows of an executor's time series

  /// Bytes of one block in one executor, all ranks together.
  byte_count block_bytes() const {
    return byte_count{keys.block_tokens * model.kv_bytes_per_token(tensor_parallel) *
                      tensor_parallel};
  }
};

}  // namespace refrain
