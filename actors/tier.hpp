// A memory below the GPU: host memory of a node, its NVMe, or a remote store. It owns capacity,
// eviction and its links. A block on its way in is invisible; one that is offered or being loaded
// is pinned; a copy stays when it is loaded. What is evicted here is offered to the next tier
// below. Stores copy through a bounded staging buffer: what does not fit is dropped and counted, so
// a slow tier never holds up the memory above.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <caf/event_based_actor.hpp>
#include <memory>
#include <vector>

#include "actors/context.hpp"
#include "actors/messages.hpp"
#include "policies/admission.hpp"
#include "policies/cache.hpp"

namespace refrain {

class tier final : public caf::event_based_actor {
 public:
  /// `index` into plan.tiers; `instance` counts nodes. `below` is the next tier's instance, or
  /// nothing.
  tier(caf::actor_config& config, contender_context* context, std::uint32_t index,
       std::uint32_t instance, caf::actor below);

 protected:
  caf::behavior make_behavior() override;

 private:
  void answer_query(query_blocks& query);
  void start_load(const load_blocks& wanted);
  void end_load(const load_done& ended);
  void store(const store_blocks& batch);
  slot_id store_one(const chained_key& block);
  std::vector<slot_id> pin_ancestors(const chained_key& block);
  void unpin_from_tail(const std::vector<slot_id>& chain);
  bool may_enter(const entry_view& entry);
  bool make_room();
  void end_store(const store_done& ended);
  void invalidate(const invalidate_blocks& outdated);
  void unpin(slot_id slot);
  void pass_down();
  void check() const;

  const tier_plan& plan() const { return context_.plan.tiers[index_]; }
  transfer_link& link(std::vector<transfer_link>& links, std::uint32_t executor) {
    return links[plan().own_links ? executor : 0];
  }
  byte_count bytes(std::size_t blocks) const {
    return byte_count{static_cast<std::int64_t>(blocks) * block_bytes_};
  }

  contender_context& context_;
  std::uint32_t index_;
  std::uint32_t instance_;
  caf::actor below_;
  byte_count block_bytes_;
  std::int64_t capacity_blocks_;
  std::unique_ptr<eviction> policy_;
  admission_needs gate_needs_;
  std::unique_ptr<admission> gate_;  // null: everything may enter
  cache<eviction> cache_;
  std::vector<char> written_;        // by slot: visible
  std::vector<char> outdated_;       // by slot: invalidated while in use
  std::vector<block_key> parents_;   // by slot: the block before it in its chain, or itself
  std::vector<std::uint64_t> seen_;  // by slot: the last walk up a chain that came by
  std::uint64_t walk_ = 0;
  std::vector<transfer_link> loads_;
  std::vector<transfer_link> stores_;
  std::vector<std::int64_t> staged_;  // bytes on their way in, by writer
  absl::flat_hash_map<std::pair<std::uint32_t, request_id>, std::vector<slot_id>> offers_;
  std::vector<chained_key> evicted_;
  std::int64_t in_flight_ = 0;  // blocks being written
  tier_summary totals_;
};

}  // namespace refrain
