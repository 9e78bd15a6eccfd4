// `refrain policies`: what the registry knows, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "policies/admission.hpp"
#include "policies/eviction.hpp"
#include "policies/routing.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "scenarios/policy_words.hpp"

namespace refrain {

namespace {

using named_needs = std::vector<std::pair<bool, const char*>>;

named_needs needs_named(const eviction_needs& needs) {
  return {{needs.tree, "tree"},       {needs.sessions, "sessions"},     {needs.times, "times"},
          {needs.costs, "costs"},     {needs.categories, "categories"}, {needs.hints, "hints"},
          {needs.steps, "steps"},     {needs.future, "future"},         {needs.front, "front"},
          {needs.queue > 0, "queue"}, {needs.unbounded, "unbounded"}};
}
named_needs needs_named(const admission_needs& needs) {
  return {{needs.accesses, "accesses"}, {needs.victim, "victim"}, {needs.depth, "depth"}};
}
named_needs needs_named(const routing_needs& needs) {
  return {{needs.matches, "matches"}, {needs.progress, "progress"}, {needs.sessions, "sessions"}};
}

/// What a policy must be given, as words.
std::vector<std::string> needs_of(const policy_info& info) {
  named_needs all;
  if (info.kind == eviction_entry::kind) {
    parameters standard{info.parameters, {}, std::string{info.name}};
    all = needs_named(registry<eviction_entry>::find(info.name, "").needs(standard));
  } else if (info.kind == admission_entry::kind) {
    parameters standard{info.parameters, {}, std::string{info.name}};
    all = needs_named(registry<admission_entry>::find(info.name, "").needs(standard));
  } else if (info.kind == routing_entry::kind) {
    all = needs_named(registry<routing_entry>::find(info.name, "").needs);
  }
  std::vector<std::string> words;
  for (auto [needed, word] : all) {
    if (needed) {
      words.emplace_back(word);
    }
  }
  return words;
}

json describe(const parameter& p) {
  json about{{"name", p.name},
             {"type", type_name(p.type)},
             {"default", json_of_text(std::string{p.standard})},
             {"description", p.description}};
  if (p.type == parameter_type::choice) {
    about["choices"] = p.choices;
  } else if (p.type != parameter_type::boolean) {
    about["low"] = p.low;
    about["high"] = p.high;
  }
  return about;
}

json describe(const policy_info& info) {
  json parameters = json::array();
  for (const parameter& p : info.parameters) {
    parameters.push_back(describe(p));
  }
  json about{{"kind", info.kind},     {"name", info.name},        {"summary", info.summary},
             {"source", info.source}, {"parameters", parameters}, {"needs", needs_of(info)}};
  if (!info.plugin.empty()) {
    about["plugin"] = info.plugin;
  }
  return about;
}

void print(const policy_info& info) {
  std::cout << fmt::format("  {:<16} {}\n", info.name, info.summary);
  std::cout << fmt::format("  {:<16} source: {}\n", "", info.source);
  std::vector<std::string> needs = needs_of(info);
  if (!needs.empty()) {
    std::cout << fmt::format("  {:<16} needs: {}\n", "", fmt::join(needs, ", "));
  }
  if (!info.plugin.empty()) {
    std::cout << fmt::format("  {:<16} plug-in: {}\n", "", info.plugin);
  }
  for (const parameter& p : info.parameters) {
    std::string values = p.type == parameter_type::choice
                             ? fmt::format("{}", fmt::join(p.choices, " or "))
                             : std::string{type_name(p.type)};
    std::cout << fmt::format("  {:<16} {} = {} ({}): {}\n", "", p.name, p.standard, values,
                             p.description);
  }
}

void print(const std::vector<const policy_info*>& all) {
  std::string_view kind;
  for (const policy_info* info : all) {
    if (info->kind != kind) {
      std::cout << (kind.empty() ? "" : "\n") << info->kind << "\n";
      kind = info->kind;
    }
    print(*info);
  }
}

}  // namespace

void policies_command(const std::vector<std::string>& words) {
  arguments given{"policies", "policies [KIND] [--plugin FILE]... [--json]",
                  "Lists every policy, or those of one kind."};
  given.word("KIND", "bound, eviction, admission, reuse, batching or routing");
  declare_plugins(given);
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  load_plugins(given);
  std::vector<const policy_info*> all = all_policies();
  if (std::string kind = given.one("KIND"); !kind.empty()) {
    std::vector<std::string_view> kinds;
    for (const policy_info* info : all) {
      if (kinds.empty() || kinds.back() != info->kind) {
        kinds.push_back(info->kind);
      }
    }
    if (std::ranges::find(kinds, kind) == kinds.end()) {
      throw usage_error{"policies: " + unknown_name("kind", kind, kinds)};
    }
    std::erase_if(all, [&](const policy_info* info) { return info->kind != kind; });
  }
  if (!given.has("json")) {
    print(all);
    return;
  }
  json document = json::array();
  for (const policy_info* info : all) {
    document.push_back(describe(*info));
  }
  print_json(document);
}

}  // namespace refrain
