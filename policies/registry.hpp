// What policies exist: each file under policies/<kind>/ registers one, the command line lists them,
// the scenario loader checks their parameters and the conformance and truth tests find them here.
// Nothing else names a policy.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policies/parameters.hpp"
#include "traces/error.hpp"

namespace refrain {

/// An exact count that a policy must give; the tests look these up for every registered policy.
struct truth_line {
  std::string_view trace;  ///< "S", "SX" (tools of the tests), "conversation", "synthetic"
  std::string_view rule;   ///< "flat" or "prefix"
  std::int64_t capacity;
  std::int64_t misses;               ///< accesses that miss
  std::int64_t missed_size = -1;     ///< in size units; -1 where sizes are 1
  std::string_view parameters = "";  ///< "k=v,..."; empty for the defaults
};

/// What a policy says of itself.
struct policy_info {
  std::string_view kind = "";
  std::string_view name;
  std::string_view summary;  ///< one line
  std::string_view source;   ///< where it is defined
  std::vector<parameter> parameters = {};
  std::vector<truth_line> truth = {};
};

/// Every registered policy of every kind, by kind and name.
std::vector<const policy_info*> all_policies();

/// Adds a policy to the list; called by registrations only.
void list_policy(const policy_info& info);

/// The policies of one kind. `Entry` has a member `info` and knows its kind as `Entry::kind`.
template <class Entry>
class registry {
 public:
  static std::map<std::string_view, Entry>& all() {
    static std::map<std::string_view, Entry> entries;
    return entries;
  }
  static void add(Entry entry) {
    entry.info.kind = Entry::kind;
    auto [at, is_new] = all().emplace(entry.info.name, std::move(entry));
    REFRAIN_ASSERT(is_new);
    list_policy(at->second.info);
  }
  /// Throws input_error{where, ...} naming the nearest policy when `name` is unknown.
  static const Entry& find(std::string_view name, const std::string& where) {
    auto found = all().find(name);
    if (found != all().end()) {
      return found->second;
    }
    std::vector<std::string_view> names;
    for (const auto& [known, _] : all()) {
      names.push_back(known);
    }
    throw input_error{where, unknown_name(std::string{Entry::kind} + " policy", name, names)};
  }
};

/// Makes the entry known at start-up: a policy's file holds one as a static object.
template <class Entry>
struct register_policy {
  explicit register_policy(Entry entry) { registry<Entry>::add(std::move(entry)); }
};

}  // namespace refrain
