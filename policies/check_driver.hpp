// A driver as an executor would be, drawn from a seed: requests over branching chains of blocks, a
// few of them running at once with their blocks pinned, some given up before their last blocks were
// filled. Whatever the policy under it answers goes through a guard.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "policies/cache.hpp"
#include "policies/check.hpp"
#include "policies/guard.hpp"

namespace refrain {

/// What one sequence of operations came to.
struct driven {
  std::uint64_t requests = 0;
  std::uint64_t evictions = 0;
  std::uint64_t choices = 0;           ///< a digest of the victims in order
  std::uint64_t allocating_calls = 0;  ///< calls in which the policy allocated
  std::string allocating;              ///< the first of them
};

/// One sequence of 400 requests over a cache of `slots` blocks.
class check_driver {
 public:
  check_driver(const checked_policy& policy, std::uint64_t seed, std::uint32_t slots);

  /// Throws run_error where the policy names a wrong victim, throws or fills more than there is.
  driven run();

 private:
  struct running_request {
    std::vector<slot_id> used;
    std::size_t found = 0;  ///< so many of them were there before
  };

  std::vector<block_key> random_chain();
  entry_view entry_of(std::uint64_t r, std::uint32_t depth, slot_id parent) const;
  void serve(std::uint64_t r);
  slot_id store(const entry_view& entry);
  void finish(std::size_t which, bool gives_up);
  void want(std::uint64_t r, bool wanted);

  std::uint32_t slots_;
  random_stream random_;
  eviction_needs needs_;
  future ahead_;
  std::vector<agent_steps> upcoming_;
  std::vector<std::vector<block_key>> chains_;
  guarded_eviction policy_;
  cache<eviction> cache_;
  std::vector<running_request> running_;
  std::vector<bool> shared_;  // by slot: another request has found it
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> wanted_;
  driven seen_;
};

/// What begins the messages about a policy: its name, and its file where it has one.
std::string title_of(const eviction_entry& entry);

/// The parameters of a checked policy, resolved.
parameters values_of(const checked_policy& policy);

}  // namespace refrain
