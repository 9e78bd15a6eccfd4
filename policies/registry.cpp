#include "policies/registry.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>

namespace refrain {

namespace {

// Everything here is written while static objects are made and while plug-ins are loaded, which is
// before threads exist.
std::vector<const policy_info*>& listed() {
  static std::vector<const policy_info*> all;
  return all;
}

struct loading {
  std::string_view file;
  policy_newcomers found;
};

std::optional<loading>& current() {
  static std::optional<loading> now;
  return now;
}

}  // namespace

std::vector<const policy_info*> all_policies() {
  std::vector<const policy_info*> all = listed();
  std::sort(all.begin(), all.end(), [](const policy_info* a, const policy_info* b) {
    return std::tie(a->kind, a->name) < std::tie(b->kind, b->name);
  });
  return all;
}

void list_policy(policy_info& info) {
  listed().push_back(&info);
  if (current()) {
    info.plugin = current()->file;
    current()->found.listed.push_back(&info);
  }
}

void refuse_policy(std::string_view kind, std::string_view name) {
  std::string text = std::string{kind} + " policy \"" + std::string{name} + "\"";
  if (!current()) {
    std::fprintf(stderr, "two files register the %s\n", text.c_str());
    std::abort();
  }
  current()->found.taken.push_back(std::move(text));
}

void begin_newcomers(std::string_view file) {
  REFRAIN_ASSERT(!current());
  current() = {file, {}};
}

policy_newcomers end_newcomers() {
  REFRAIN_ASSERT(current());
  policy_newcomers found = std::move(current()->found);
  current().reset();
  return found;
}

void unlist_policy(const policy_info& info) {
  std::erase(listed(), &info);
}

bool is_policy_name(std::string_view name) {
  auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && is_letter(name.front()) && name.back() != '_' &&
         name.find("__") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), is_part);
}

}  // namespace refrain
