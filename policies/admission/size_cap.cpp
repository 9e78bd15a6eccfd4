// Size cap: what is larger than a share of the capacity may not enter, so that no single object
// empties the cache.
#include "policies/admission.hpp"

namespace refrain {
namespace {

class size_cap final : public admission {
 public:
  size_cap(const parameters& values, const admission_setup& setup)
      : most_{values.real("share") * static_cast<double>(setup.capacity)} {}

  bool admit(const entry_view& entry, const block_key*) override { return entry.size <= most_; }

 private:
  double most_;
};

const register_admission<size_cap> registration{
    policy_info{.name = "size_cap",
                .summary = "what is larger than a share of the capacity may not enter",
                .source = "the size threshold of web proxies: Williams et al., SIGCOMM 1996",
                .parameters = {{.name = "share",
                                .type = parameter_type::real,
                                .standard = "0.1",
                                .description = "largest object, by the capacity",
                                .low = 0,
                                .high = 1}}}};

}  // namespace
}  // namespace refrain
