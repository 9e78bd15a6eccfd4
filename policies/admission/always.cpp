// Always: every block may enter, as far as the eviction policy wants it.
#include "policies/admission.hpp"

namespace refrain {
namespace {

class always final : public admission {
 public:
  always(const parameters&, const admission_setup&) {}
};

const register_admission<always> registration{policy_info{
    .name = "always", .summary = "every block may enter", .source = "what engines do by default"}};

}  // namespace
}  // namespace refrain
