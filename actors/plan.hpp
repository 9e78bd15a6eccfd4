// What a contender's actors are made from: everything a scenario says, resolved to values. Whoever
// fills these in has checked them; actors only assert.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/transfer_link.hpp"
#include "gpu/cpu/decoder.hpp"
#include "gpu/model.hpp"
#include "gpu/profile.hpp"
#include "gpu/recorded_engine.hpp"
#include "gpu/weights.hpp"
#include "policies/future.hpp"
#include "policies/parameters.hpp"
#include "policies/recompute.hpp"
#include "traces/corpus/corpus_search.hpp"
#include "traces/corpus/living_corpus.hpp"
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
  bool count_seen = false;  ///< what an endless cache of whole chunks would have found, by request
};

/// Which memory a tier below the GPU is.
enum class tier_kind : std::uint8_t { host, nvme, remote };
/// How tables of blocks mark where one is: 0 stands for GPU memory, or for nowhere.
constexpr std::uint8_t mark_of(tier_kind kind) {
  return static_cast<std::uint8_t>(1 + static_cast<std::uint8_t>(kind));
}
/// When a tier below the GPU is written.
enum class tier_write : std::uint8_t {
  demote,    ///< when a block is evicted from the memory above
  through,   ///< when a block has been computed
  selective  ///< when a block is used for the second time
};
/// Whether found blocks are loaded or computed again.
enum class tier_load : std::uint8_t {
  automatic,  ///< whichever is expected to be done first
  always,     ///< loaded, however long it takes
  split       ///< the head is computed while the tail is loaded, so that both end together
};
/// What a request does while its load is under way.
enum class load_wait : std::uint8_t {
  automatic,   ///< waits as long as that is expected to be faster than computing the rest
  wait,        ///< waits for all of it
  best_effort  ///< enters as soon as there is room, with what has come by then
};

/// A memory below the GPU.
struct tier_plan {
  tier_kind kind = tier_kind::host;
  std::string name;             ///< host, nvme or remote
  byte_count capacity;          ///< of one instance: of a node, or of the remote store
  link_speed load;              ///< towards the GPU
  link_speed store;             ///< away from it
  bool own_links = false;       ///< every executor has its own links; else they share one pair
  bool per_node = true;         ///< one instance a node; else one for all
  byte_count staging{1 << 30};  ///< bytes on their way into it at once, for each writer
  tier_write write = tier_write::demote;
  tier_load loading = tier_load::automatic;
  policy_choice eviction;
  policy_choice admission{"always", {}};
};

/// How many routers there are and how soon they know what executors hold.
struct router_plan {
  std::int64_t count = 1;
  sim_time delay{0};   ///< from a change in an executor to every router
  sim_time poll{0};    ///< changes are asked for this often; 0: told at once
  bool watch = false;  ///< they are told what executors hold even where the policy does not ask
};

/// Prefill and decode on executors of their own.
struct disaggregation_plan {
  std::int64_t prefill_executors = 0;  ///< the first so many; 0: every executor does both
  link_speed handoff;                  ///< out of each prefill executor
  policy_choice routing;               ///< which decode executor goes on; set where it is used
};

/// The search before the prompt.
struct retrieval_plan {
  sim_time latency{0};    ///< stated: of every search
  bool measured = false;  ///< searches are timed on this machine, and `latency` comes on top
  /// Null: prompts hold their documents already. Of a corpus that changes, as it is at time 0.
  std::shared_ptr<const corpus_search> search{};
  std::size_t number = 0;  ///< of this search among the run's different ones, from 1
};

/// How iterations get their times, where not by the cost model.
struct execution_plan {
  /// Tokens are computed with this model; null: they are not.
  std::shared_ptr<const llama_weights> weights{};
  cpu_precision precision = cpu_precision::fp32;
  /// Iterations timed in an earlier run, by executor; null: none.
  std::shared_ptr<const std::vector<std::vector<timed_iteration>>> recorded{};
};

/// Requests that are computed for real beside the simulation, which does not know of it.
struct sample_plan {
  std::shared_ptr<const llama_weights> weights{};  ///< null: there is no sample
  cpu_precision precision = cpu_precision::fp32;
  std::vector<session_id> sessions{};  ///< whose requests, ascending
  std::int64_t tokens_max = 0;         ///< of prompt and answer; longer requests are left out

  bool holds(session_id session) const {
    return weights != nullptr && std::ranges::binary_search(sessions, session);
  }
};

/// How caches keep up with a corpus that changes.
enum class knowledge_protocol : std::uint8_t {
  strict,  ///< KV is looked up by the version that was retrieved; what is outdated while it is
           ///< computed or moved is not kept
  loose    ///< by name: whatever version is there is taken until the news of its end have come
};

/// The updates of the corpus and what becomes of the KV of older chunks.
struct knowledge_plan {
  update_stream updates{};  ///< without a history nothing changes
  std::shared_ptr<const corpus> questions{};
  survival rule = survival::chunk;
  knowledge_protocol protocol = knowledge_protocol::strict;
  sim_time delay{0};  ///< from an update until executors and tiers hear of it

  bool plays() const { return updates.history != nullptr; }
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
  std::int64_t blocks = 0;       ///< KV blocks of one executor
  std::uint32_t slots = 0;       ///< findable blocks at once, at most: min(blocks, unique_keys)
  std::int64_t unique_keys = 0;  ///< different findable blocks in the workload

  policy_choice reuse;
  policy_choice eviction;
  policy_choice admission{"always", {}};  ///< what may enter the GPU's cache
  policy_choice batching;
  policy_choice routing;
  router_plan routers;
  std::shared_ptr<const future> ahead;  ///< set where the eviction policy needs the future
  recompute_model recompute;            ///< of this GPU and model, for policies that weigh costs

  disaggregation_plan disaggregation;

  std::vector<tier_plan> tiers;  ///< below the GPU, nearest first
  load_wait waiting = load_wait::automatic;
  bool overlap = false;  ///< a load ends layer by layer beside the first iteration that uses it
  std::int64_t executors_per_node = INT64_MAX;

  retrieval_plan retrieval;
  execution_plan execution;
  sample_plan sample;
  knowledge_plan knowledge;
  bool fast_forward = true;  ///< advance identical iterations together; same results either way
  sim_time sample_every{10'000'000'000};  ///< between two rows of an executor's time series

  /// Bytes of one block in one executor, all ranks together.
  byte_count block_bytes() const {
    return byte_count{keys.block_tokens * model.kv_bytes_per_token(tensor_parallel) *
                      tensor_parallel};
  }
};

}  // namespace refrain
