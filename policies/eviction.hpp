// Eviction: which cached block gives way. The cache owns the map from key to entry and hands out
// dense slot ids; a policy keeps its state in plain arrays indexed by slot, sized once. The same
// object serves the tight loop of `refrain replay` (through its concrete type, so calls inline) and
// the actors (through this interface).
//
// The driver calls, for each request, begin_request; for a key that is not resident on_miss, and
// on_insert when it got its slot; for one that is, on_hit. A slot is pinned while a running request
// uses its block: on_pin at the first use, on_unpin at the last, the tail of a chain first.
// victim() names an unpinned slot and on_evict takes it away; on_remove takes one that is no victim
// (a block that was never filled).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "policies/future.hpp"
#include "policies/registry.hpp"
#include "traces/integers.hpp"
#include "traces/random.hpp"
#include "traces/request.hpp"

namespace refrain {

/// The request whose blocks are touched next.
struct request_view {
  request_id id;
  session_id session;
  token_count input_tokens;
  token_count output_tokens;
  sim_time now{0};  ///< when it is served: its arrival in replay, virtual time in a run
  std::span<const agent_steps> upcoming{};  ///< agents of its workflow to come (needs.steps)
};

/// One block as a policy sees it.
struct entry_view {
  block_key key;
  std::uint32_t size = 1;        ///< in units of the capacity
  std::uint32_t depth = 0;       ///< blocks before it in its chain
  slot_id parent = no_slot;      ///< slot of the block before it, where that is resident
  session_id session;            ///< conversation of the request that touches it
  token_count tokens_before;     ///< tokens of its chain before this block
  std::uint32_t wanted = 0;      ///< requests in the look-ahead queue that hold it (needs.queue)
  std::uint32_t category = 0;    ///< the kind of its request (needs.categories)
  std::int32_t priority = 35;    ///< 0 to 100, as its request asks (needs.hints)
  sim_time retention{0};         ///< how long that priority holds; 0: without end (needs.hints)
  std::uint32_t agent = 0;       ///< whose prompt it is in (needs.steps)
  double recompute_seconds = 0;  ///< to compute it again behind all before it (needs.costs)
  double request_seconds = 0;  ///< mean of that over the blocks its request computes (needs.costs)
};

/// What a policy must be given; a trace or driver that lacks it stops the run with that reason.
struct eviction_needs {
  bool tree = false;        ///< pins, and parents inserted before their children (leaf scope)
  bool sessions = false;    ///< conversations can be told
  bool times = false;       ///< request_view::now
  bool future = false;      ///< the whole trace ahead: clairvoyant
  bool costs = false;       ///< seconds of recomputation can be told
  bool categories = false;  ///< the kind of a request can be told
  bool hints = false;       ///< requests say how long they want to be kept
  bool expiry = false;      ///< blocks are dropped when their time is over
  bool steps = false;       ///< the steps of a workflow that are to come can be told
  bool front = false;       ///< blocks of a request are touched head first, not tail first
  bool unbounded = false;   ///< cached blocks take no room
  std::uint32_t queue = 0;  ///< requests of the queue that on_want tells of; 0 = none
};

/// What a policy is made from.
struct eviction_setup {
  std::uint32_t slots = 0;    ///< slots are 0 .. slots - 1
  std::int64_t capacity = 0;  ///< in units of entry_view::size
  random_stream random{0, "eviction"};
  const future* ahead = nullptr;  ///< set where needs.future
};

/// Interface of every eviction policy. No call may allocate after construction.
class eviction {
 public:
  virtual ~eviction() = default;

  static eviction_needs needs(const parameters&) { return {}; }

  virtual void begin_request(const request_view&) {}
  /// When the time of some unpinned block will be over, or nothing; asked by runs where
  /// needs.expiry.
  virtual std::optional<sim_time> next_expiry() const { return std::nullopt; }
  /// Virtual time has come this far: told by runs where needs.expiry, before they ask has_expired.
  virtual void on_time(sim_time) {}
  /// Whether victim() must go now, though there is room; asked by replay when a request begins and
  /// after a hit, by runs at next_expiry().
  virtual bool has_expired() { return false; }
  /// A key that is not resident is accessed; false refuses to cache it. Ghosts are looked up here.
  virtual bool on_miss(const entry_view&) { return true; }
  /// Room was made for what on_miss let in; true asks for another victim all the same. Asked by
  /// replay only, where sizes differ.
  virtual bool is_crowded(const entry_view&) { return false; }
  /// Room was made for what on_miss let in; false drops it all the same. Asked by replay only,
  /// where sizes differ.
  virtual bool on_room(const entry_view&) { return true; }
  virtual void on_insert(slot_id slot, const entry_view& entry) = 0;
  /// A resident key is accessed, pinned or not. `entry` carries what may have changed: depth,
  /// session, tokens_before.
  virtual void on_hit(slot_id slot, const entry_view& entry) = 0;
  virtual void on_pin(slot_id) {}
  virtual void on_unpin(slot_id) {}
  /// The slot that gives way; never a pinned one. Called only when an unpinned slot exists. Under
  /// leaf scope it may be no_slot, when every unpinned slot has resident children.
  virtual slot_id victim() = 0;
  virtual void on_remove(slot_id slot) = 0;
  /// The victim gives way; `key` is what a policy with ghosts remembers. Else on_remove is enough.
  virtual void on_evict(slot_id slot, block_key) { on_remove(slot); }
  /// A request that holds this block joined (or left) the look-ahead queue (needs.queue).
  virtual void on_want(slot_id) {}
  virtual void on_unwant(slot_id) {}
};

struct access_columns;
struct replay_result;
struct gate_keeper;

/// A registered eviction policy.
struct eviction_entry {
  static constexpr std::string_view kind = "eviction";

  using replayer = std::function<replay_result(const access_columns&, std::int64_t capacity,
                                               const parameters&, gate_keeper)>;

  policy_info info;
  std::function<eviction_needs(const parameters&)> needs;
  std::function<std::unique_ptr<eviction>(const parameters&, const eviction_setup&)> make;
  /// The tight loops over this very type; null for a policy that exists in runs only.
  replayer replay_flat;
  replayer replay_prefix;
};

}  // namespace refrain
