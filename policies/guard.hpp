// A guard stands between the program and a policy that is not trusted: one from a plug-in, or one
// that is being checked. It turns what the policy throws into a run_error that names it, refuses a
// victim that is out of range, not resident or pinned before anybody acts on it, counts what a call
// allocates, and lets the watchdog see each call. What a guarded policy does is otherwise what it
// does alone, and a guard allocates nothing after its construction unless the cache is unbounded.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/admission.hpp"
#include "policies/allocations.hpp"
#include "policies/batching.hpp"
#include "policies/eviction.hpp"
#include "policies/reuse.hpp"
#include "policies/routing.hpp"
#include "policies/watchdog.hpp"

namespace refrain {

/// Makes calls on behalf of one policy.
class call_guard {
 public:
  /// `who` begins every message; without `watch` a call may take for ever.
  explicit call_guard(std::string who, bool watch = true) : who_{std::move(who)} {
    if (watch) {
      slot_.emplace(who_);
    }
  }

  /// What `function` returns. Throws run_error for what it throws; input_error and run_error pass.
  template <class Function>
  decltype(auto) call(const char* name, Function function) const {
    in_progress now{*this, name};
    try {
      return function();
    } catch (const input_error&) {
      throw;
    } catch (const run_error&) {
      throw;
    } catch (const std::exception& thrown) {
      throw run_error{who_ + ": " + name + "() threw: " + thrown.what()};
    } catch (...) {
      throw run_error{who_ + ": " + name + "() threw something that is no std::exception"};
    }
  }
  /// Throws run_error "WHO: TEXT".
  [[noreturn]] void fail(const std::string& text) const { throw run_error{who_ + ": " + text}; }

  /// Calls in which memory was allocated, and the first of them; null where there were none.
  std::uint64_t allocating_calls() const { return allocating_calls_; }
  const char* first_allocating() const { return first_allocating_; }

 private:
  class in_progress {
   public:
    in_progress(const call_guard& guard, const char* name)
        : guard_{guard}, name_{name}, before_{allocations()} {
      if (guard_.slot_) {
        guard_.slot_->enter(name);
      }
    }
    ~in_progress() {
      if (guard_.slot_) {
        guard_.slot_->leave();
      }
      if (allocations() != before_ && guard_.allocating_calls_++ == 0) {
        guard_.first_allocating_ = name_;
      }
    }
    in_progress(const in_progress&) = delete;
    in_progress& operator=(const in_progress&) = delete;

   private:
    const call_guard& guard_;
    const char* name_;
    std::uint64_t before_;
  };

  std::string who_;
  mutable std::optional<watched_slot> slot_;
  mutable std::uint64_t allocating_calls_ = 0;
  mutable const char* first_allocating_ = nullptr;
};

/// An eviction policy behind a guard.
class guarded_eviction final : public eviction {
 public:
  guarded_eviction(std::string who, std::unique_ptr<eviction> policy, const eviction_needs& needs,
                   std::uint32_t slots, bool watch = true);

  void begin_request(const request_view& request) override;
  std::optional<sim_time> next_expiry() const override;
  void on_time(sim_time now) override;
  bool has_expired() override;
  bool on_miss(const entry_view& entry) override;
  bool is_crowded(const entry_view& entry) override;
  bool on_room(const entry_view& entry) override;
  void on_insert(slot_id slot, const entry_view& entry) override;
  void on_hit(slot_id slot, const entry_view& entry) override;
  void on_pin(slot_id slot) override;
  void on_unpin(slot_id slot) override;
  slot_id victim() override;
  void on_remove(slot_id slot) override;
  void on_evict(slot_id slot, block_key key) override;
  void on_want(slot_id slot) override;
  void on_unwant(slot_id slot) override;

  const call_guard& calls() const { return guard_; }

 private:
  /// What the guard knows of a slot. `life` tells apart the blocks that have lived in it.
  struct slot_state {
    bool resident = false;
    bool pinned = false;
    std::uint32_t life = 0;
    std::uint32_t children = 0;
    std::uint32_t parent_life = 0;
    slot_id parent = no_slot;
  };

  void check_victim(slot_id slot) const;
  void check_refusal() const;
  void forget(slot_id slot);

  call_guard guard_;
  std::unique_ptr<eviction> policy_;
  bool tree_;
  std::vector<slot_state> slots_;
  std::uint64_t resident_ = 0;
  std::uint64_t pinned_ = 0;
};

/// The entry with every policy made from it guarded, in replay too. `who` names file and policy.
eviction_entry guarded(const eviction_entry& entry, const std::string& who, bool watch = true);
admission_entry guarded(const admission_entry& entry, const std::string& who);
reuse_entry guarded(const reuse_entry& entry, const std::string& who);
batching_entry guarded(const batching_entry& entry, const std::string& who);
routing_entry guarded(const routing_entry& entry, const std::string& who);

}  // namespace refrain
