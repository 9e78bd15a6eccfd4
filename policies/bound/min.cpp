// MIN: the object whose next access is farthest gives way; objects without a next access are all
// equally far. With unequal sizes it is a heuristic and no bound.
#include "policies/bound_min.hpp"

namespace refrain {
namespace {

const register_policy<bound_entry> registration{
    {policy_info{.name = "min",
                 .summary = "the clairvoyant optimum of flat replay, every miss cached",
                 .source = "Belady, IBM Systems Journal 1966; Mattson et al. 1970",
                 .truth = {{"S", "flat", 200, 77591},
                           {"S", "flat", 2000, 35703},
                           {"SX", "flat", 6500, 78327, 2572287},
                           {"conversation", "flat", 1000, 233506},
                           {"conversation", "flat", 10000, 182790},
                           {"synthetic", "flat", 1000, 88164}}},
     [](const access_columns& columns, std::int64_t capacity) {
       return replay_min(columns, capacity, false);
     },
     nullptr}};

}  // namespace
}  // namespace refrain
