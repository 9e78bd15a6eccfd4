// The conformance kit: what every eviction policy must keep to, whatever it does. `refrain check`
// runs it for authors, and the tests for every policy in the tree. Each check is a function of the
// policy and a seed; it says why it failed, and what it has seen where it passed. Speed is measured
// beside them and judges nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "policies/eviction.hpp"

namespace refrain {

/// What is checked: a policy with the parameters given for it.
struct checked_policy {
  const eviction_entry* entry;
  given_parameters given = {};
  std::uint64_t seed = 1;
  bool watch = false;  ///< let the watchdog end the program when a call does not return
};

/// How a check ended. A policy that a check does not suit is skipped.
enum class check_outcome : std::uint8_t { passed, failed, skipped };

/// The name of an outcome: "pass", "fail" or "skip".
std::string_view name_of(check_outcome outcome);

/// What a check says.
struct check_report {
  check_outcome outcome = check_outcome::passed;
  std::string reason;  ///< one line
};

/// One rule. `run` throws run_error where the policy breaks what the guard watches over.
struct policy_check {
  std::string_view name;
  std::string_view rule;  ///< one line
  check_report (*run)(const checked_policy&);
};

/// All rules, in the order in which they are checked.
std::span<const policy_check> policy_checks();

/// Runs one check; whatever it throws is a failure.
check_report run_check(const policy_check& check, const checked_policy& policy);

/// CPU nanoseconds of one access in replay, cache included; 0 for a policy that has no replay.
double nanoseconds_per_access(const checked_policy& policy);

}  // namespace refrain
