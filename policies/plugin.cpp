#include "policies/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "policies/bound.hpp"
#include "policies/guard.hpp"
#include "policies/plugin_abi.hpp"
#include "traces/sha256.hpp"

namespace refrain {

namespace {

namespace fs = std::filesystem;

constexpr plugin_abi own = make_plugin_abi();

const char* const how_to_build =
    "build it with refrain_add_policy of the installed package (docs/plugins.md)";

/// What the file says of itself. Throws input_error where it says nothing.
plugin_abi read_abi(const std::string& file, const std::string& where) {
  std::error_code error;
  std::ifstream stream;
  if (!fs::is_directory(file, error)) {
    stream.open(file, std::ios::binary);
  }
  std::string bytes;
  if (stream.is_open()) {
    bytes.assign(std::istreambuf_iterator<char>{stream}, {});
  }
  if (!stream.is_open() || !stream) {
    throw input_error{where, file + ": cannot be read; expected a plug-in, a shared library"};
  }
  if (!bytes.starts_with("\x7f"
                         "ELF")) {
    throw input_error{where, file + ": is no plug-in but some other file; " + how_to_build};
  }
  std::size_t at = bytes.find(std::string_view{own.magic, sizeof own.magic});
  if (at == std::string::npos || bytes.size() - at < sizeof(plugin_abi)) {
    throw input_error{where, file + ": is no plug-in of refrain; " + how_to_build};
  }
  plugin_abi found;
  std::memcpy(&found, bytes.data() + at, sizeof found);
  found.headers[sizeof found.headers - 1] = '\0';
  return found;
}

void check_abi(const std::string& file, const std::string& where) {
  plugin_abi found = read_abi(file, where);
  std::string begin = file + ": was built for another refrain: ";
  std::string end = "; build it again against this one's package, with its flags";
  if (std::string_view{found.headers} != own.headers) {
    throw input_error{
        where, begin + "its headers are " + found.headers + " and this one's " + own.headers + end};
  }
  for (std::size_t i = 0; i < std::size(own.facts); ++i) {
    if (found.facts[i] != own.facts[i]) {
      throw input_error{where, begin + std::string{plugin_facts[i].name} + " is " +
                                   std::to_string(found.facts[i]) + " there and " +
                                   std::to_string(own.facts[i]) + " here" + end};
    }
  }
}

/// One kind of policy that plug-ins may hold.
struct plugin_kind {
  std::string_view kind;
  bool (*has)(const policy_info& info);  ///< this very one, not another of its name
  void (*forget)(std::string_view name);
  void (*guard)(std::string_view name, const std::string& who);
};

template <class Entry>
constexpr plugin_kind kind_of() {
  return {Entry::kind,
          [](const policy_info& info) {
            auto found = registry<Entry>::all().find(info.name);
            return found != registry<Entry>::all().end() && &found->second.info == &info;
          },
          [](std::string_view name) { registry<Entry>::all().erase(name); },
          [](std::string_view name, const std::string& who) {
            Entry& entry = registry<Entry>::all().at(name);
            entry = guarded(entry, who);
          }};
}

constexpr plugin_kind kinds[] = {kind_of<eviction_entry>(), kind_of<admission_entry>(),
                                 kind_of<reuse_entry>(), kind_of<batching_entry>(),
                                 kind_of<routing_entry>()};

const plugin_kind* find_kind(std::string_view kind) {
  auto found = std::ranges::find(kinds, kind, &plugin_kind::kind);
  return found == std::end(kinds) ? nullptr : found;
}

/// Why a policy of a plug-in is not taken; empty where it is.
std::string objection(const policy_info& info) {
  std::string text = std::string{info.kind} + " policy \"" + std::string{info.name} + "\"";
  const plugin_kind* kind = find_kind(info.kind);
  if (kind == nullptr) {
    return "registers the " + text +
           "; plug-ins hold eviction, admission, reuse, batching and routing policies";
  }
  if (!is_policy_name(info.name)) {
    return "registers the " + text + ", which is no name; expected snake_case";
  }
  if (!kind->has(info)) {
    return "keeps the " + text + " to itself: it was built with hidden symbols; " + how_to_build;
  }
  bool is_bound = registry<bound_entry>::all().contains(info.name);
  if (info.kind == eviction_entry::kind && is_bound) {
    return "registers the " + text + ", but a bound has that name; rename it";
  }
  return "";
}

/// What is wrong with what a plug-in has registered; empty where nothing is.
std::string objection(const policy_newcomers& found) {
  if (!found.taken.empty()) {
    return "registers the " + found.taken.front() + ", but there is one of that name; rename it";
  }
  if (found.listed.empty()) {
    return "registers no policy";
  }
  for (const policy_info* info : found.listed) {
    if (std::string text = objection(*info); !text.empty()) {
      return text;
    }
  }
  return "";
}

void forget(const policy_newcomers& found) {
  for (const policy_info* info : found.listed) {
    unlist_policy(*info);
    if (const plugin_kind* kind = find_kind(info->kind); kind != nullptr && kind->has(*info)) {
      kind->forget(info->name);
    }
  }
}

/// A file that was tried, under the name of what it is on the disk.
struct tried_plugin {
  loaded_plugin loaded;
  std::string objection;
};

/// Runs the code of a file that has been checked.
void load(tried_plugin& plugin, const std::string& where) {
  const std::string& file = plugin.loaded.file;
  begin_newcomers(file);
  void* library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* error = library == nullptr ? dlerror() : nullptr;
  policy_newcomers found = end_newcomers();
  if (library == nullptr) {
    forget(found);
    throw input_error{where, file + ": does not load: " + (error == nullptr ? "" : error)};
  }
  plugin.objection = objection(found);
  if (!plugin.objection.empty()) {
    forget(found);
    return;
  }
  for (const policy_info* info : found.listed) {
    plugin.loaded.policies.push_back(info->name);
    find_kind(info->kind)->guard(info->name, file + ": policy \"" + std::string{info->name} + "\"");
  }
}

}  // namespace

// What a library registers it registers once, however often it is opened, so the outcome is kept.
const loaded_plugin& load_plugin(const std::string& file, const std::string& where) {
  static std::map<fs::path, std::unique_ptr<tried_plugin>> tried;
  std::error_code ignored;
  std::unique_ptr<tried_plugin>& plugin = tried[fs::weakly_canonical(file, ignored)];
  if (plugin == nullptr) {
    check_abi(file, where);
    auto fresh = std::make_unique<tried_plugin>();
    fresh->loaded.file = file;
    fresh->loaded.sha256 = sha256_of_file(file);
    load(*fresh, where);
    plugin = std::move(fresh);
  }
  if (!plugin->objection.empty()) {
    throw input_error{where, file + ": " + plugin->objection};
  }
  return plugin->loaded;
}

}  // namespace refrain
