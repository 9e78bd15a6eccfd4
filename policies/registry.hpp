// What policies exist: each file under policies/<kind>/ registers one, the command line lists them,
// the scenario loader checks their parameters and the conformance and truth tests find them here.
// Nothing else names a policy. Plug-ins add theirs the same way while they are loaded (plugin.hpp),
// before anything runs; from then on the registry only is read.
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
  std::string_view plugin = "";  ///< the file it was loaded from; empty for the program's own
};

/// Every registered policy of every kind, by kind and name.
std::vector<const policy_info*> all_policies();

/// Adds a policy to the list; called by registrations only.
void list_policy(policy_info& info);
/// Two policies of one kind have this name: a programmer error, or what a plug-in is refused for.
void refuse_policy(std::string_view kind, std::string_view name);

/// What registered itself while a plug-in was being loaded.
struct policy_newcomers {
  std::vector<policy_info*> listed;
  std::vector<std::string> taken;  ///< 'KIND policy "NAME"', of names that were not free
};

/// Until `end_newcomers`, what registers itself is collected as coming from the plug-in `file`.
void begin_newcomers(std::string_view file);
policy_newcomers end_newcomers();
/// Takes a policy off the list again; its registry forgets it by itself.
void unlist_policy(const policy_info& info);

/// Whether a policy may be called that: snake_case, a letter first.
bool is_policy_name(std::string_view name);

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
    std::string_view name = entry.info.name;
    auto [at, is_new] = all().try_emplace(name, std::move(entry));
    if (!is_new) {
      refuse_policy(Entry::kind, name);
      return;
    }
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
