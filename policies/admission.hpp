// Admission: which blocks may enter a cache at all. It is asked first and its refusal is final: the
// eviction policy hears only of what was let in, and may refuse that in its turn. A refused block
// is computed as any other and cannot be found afterwards.
//
// The driver asks `leading` once for each request, then for each of its blocks that is not resident
// `admit`. Under the flat rule, and in tiers below the GPU, every access is a request of one block.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "policies/eviction.hpp"
#include "policies/registry.hpp"

namespace refrain {

/// What a policy must be given; a driver that lacks it stops the run with that reason.
struct admission_needs {
  bool accesses = false;  ///< on_access of every access
  bool victim = false;    ///< the key that would give way
  bool depth = false;     ///< places in the chain of a request
};

/// What a policy is made from.
struct admission_setup {
  std::int64_t capacity = 0;  ///< in units of entry_view::size
};

/// Interface of every admission policy.
class admission {
 public:
  /// As many blocks as there are.
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  virtual ~admission() = default;

  static admission_needs needs(const parameters&) { return {}; }

  /// Units of the capacity that cached blocks may take; beyond them one must give way first.
  virtual std::int64_t limit(std::int64_t capacity) const { return capacity; }
  /// How many of a request's leading blocks may enter; told the keys of its chain, first block
  /// first.
  virtual std::size_t leading(std::span<const block_key>) { return all; }
  /// A block is accessed, resident or not; before admit is asked.
  virtual void on_access(block_key) {}
  /// Whether this block may enter. `victim` is the key that gives way for it (needs.victim), null
  /// where there is room.
  virtual bool admit(const entry_view&, const block_key* /*victim*/) { return true; }
  /// A block that had entered was evicted.
  virtual void on_evict(block_key) {}
};

/// A registered admission policy.
struct admission_entry {
  static constexpr std::string_view kind = "admission";

  policy_info info;
  std::function<admission_needs(const parameters&)> needs;
  std::function<std::unique_ptr<admission>(const parameters&, const admission_setup&)> make;
};

/// An admission policy at work, for a driver's loop.
struct gate_keeper {
  admission* policy = nullptr;  ///< null: everything may enter
  admission_needs needs = {};
};

/// The policy of that name, or null for "always"; `needs` is set with it.
inline std::unique_ptr<admission> make_admission(std::string_view name, const parameters& values,
                                                 std::int64_t capacity, admission_needs& needs) {
  if (name == "always") {
    return nullptr;
  }
  const auto& entry = registry<admission_entry>::find(name, "policies.admission");
  needs = entry.needs(values);
  return entry.make(values, {.capacity = capacity});
}

/// Registers `Policy(const parameters&, const admission_setup&)`, with a static `needs(const
/// parameters&)` where it needs anything.
template <class Policy>
struct register_admission : register_policy<admission_entry> {
  explicit register_admission(policy_info info)
      : register_policy{admission_entry{std::move(info), &Policy::needs,
                                        [](const parameters& values, const admission_setup& setup)
                                            -> std::unique_ptr<admission> {
                                          return std::make_unique<Policy>(values, setup);
                                        }}} {}
};

}  // namespace refrain
