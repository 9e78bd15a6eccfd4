#include "policies/future.hpp"

#include <algorithm>

namespace refrain {

void future::add(request_id row, const std::vector<block_key>& blocks) {
  for (block_key key : blocks) {
    std::vector<std::uint64_t>& rows = rows_[key];
    if (rows.empty() || rows.back() != row) {
      rows.push_back(row);
    }
  }
}

std::uint64_t future::next_use(block_key key, request_id row) const {
  auto found = rows_.find(key);
  if (found == rows_.end()) {
    return never;
  }
  auto next = std::upper_bound(found->second.begin(), found->second.end(), row.get());
  return next == found->second.end() ? never : *next;
}

}  // namespace refrain
