// Belady on prefix chains with bypass: a true upper bound on what any policy can hit, since blocks
// may be refused.
#include "policies/bound_min.hpp"

namespace refrain {
namespace {

const register_policy<bound_entry> registration{
    {policy_info{.name = "belady_bypass",
                 .summary = "the clairvoyant optimum of prefix replay, blocks may be refused",
                 .source = "Belady, IBM Systems Journal 1966; bypass as in McFarling 1992",
                 .truth = {{"conversation", "prefix", 1000, 288500 - 55019},
                           {"conversation", "prefix", 10000, 288500 - 105710},
                           {"conversation", "prefix", 50000, 288500 - 105710},
                           {"synthetic", "prefix", 1000, 121877 - 33728},
                           {"synthetic", "prefix", 10000, 121877 - 75316}}},
     nullptr, [](const access_columns& columns, std::int64_t capacity) {
       return replay_belady(columns, capacity, true);
     }}};

}  // namespace
}  // namespace refrain
