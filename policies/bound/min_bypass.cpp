// MIN with bypass: as MIN, but a newcomer whose next access is farther than all that is cached is
// not cached.
#include "policies/bound_min.hpp"

namespace refrain {
namespace {

const register_policy<bound_entry> registration{
    {policy_info{.name = "min_bypass",
                 .summary = "the clairvoyant optimum of flat replay, newcomers may be refused",
                 .source = "Belady, IBM Systems Journal 1966; bypass as in McFarling 1992",
                 .truth = {{"S", "flat", 200, 77506},
                           {"S", "flat", 2000, 35699},
                           {"conversation", "flat", 1000, 233481},
                           {"conversation", "flat", 10000, 182790},
                           {"synthetic", "flat", 1000, 88149}}},
     [](const access_columns& columns, std::int64_t capacity) {
       return replay_min(columns, capacity, true);
     },
     nullptr}};

}  // namespace
}  // namespace refrain
