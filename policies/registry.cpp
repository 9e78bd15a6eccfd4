#include "policies/registry.hpp"

#include <algorithm>
#include <tuple>

namespace refrain {

namespace {

std::vector<const policy_info*>& listed() {
  static std::vector<const policy_info*> all;
  return all;
}

}  // namespace

std::vector<const policy_info*> all_policies() {
  std::vector<const policy_info*> all = listed();
  std::sort(all.begin(), all.end(), [](const policy_info* a, const policy_info* b) {
    return std::tie(a->kind, a->name) < std::tie(b->kind, b->name);
  });
  return all;
}

void list_policy(const policy_info& info) {
  listed().push_back(&info);
}

}  // namespace refrain
