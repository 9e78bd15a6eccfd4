// Belady on prefix chains, pinned: the best that an engine can do that must hold a running
// request's blocks. In a chain a parent's next use is never later than its child's, so with ties
// deepest first no block is orphaned.
#include "policies/bound_min.hpp"

namespace refrain {
namespace {

const register_policy<bound_entry> registration{
    {policy_info{.name = "belady",
                 .summary = "the clairvoyant optimum of prefix replay, running blocks pinned",
                 .source = "Belady, IBM Systems Journal 1966; ties deepest first",
                 .truth = {{"conversation", "prefix", 1000, 288500 - 51705},
                           {"conversation", "prefix", 10000, 288500 - 105710},
                           {"conversation", "prefix", 50000, 288500 - 105710},
                           {"synthetic", "prefix", 1000, 121877 - 32803},
                           {"synthetic", "prefix", 10000, 121877 - 75241}}},
     nullptr, [](const access_columns& columns, std::int64_t capacity) {
       return replay_belady(columns, capacity, false);
     }}};

}  // namespace
}  // namespace refrain
