// Share cap: cached blocks take at most a share of the memory, the rest is for running requests
// alone; at the cap a newcomer enters only for one that gives way. The default is the rule of thumb
// "a cache takes at most 30 % of the GPU, else it thrashes", which this policy exists to put to the
// test.
#include <algorithm>
#include <cmath>

#include "policies/admission.hpp"

namespace refrain {
namespace {

class share_cap final : public admission {
 public:
  share_cap(const parameters& values, const admission_setup&) : share_{values.real("share")} {}

  std::int64_t limit(std::int64_t capacity) const override {
    return static_cast<std::int64_t>(std::floor(share_ * static_cast<double>(capacity)));
  }

 private:
  double share_;
};

const register_admission<share_cap> registration{
    policy_info{.name = "share_cap",
                .summary = "cached blocks take at most a share of the memory",
                .source = "a rule of thumb of deployment guides: at most 30 % of the GPU",
                .parameters = {{.name = "share",
                                .type = parameter_type::real,
                                .standard = "0.3",
                                .description = "of the capacity, rounded down to whole units",
                                .low = 0,
                                .high = 1}}}};

}  // namespace
}  // namespace refrain
