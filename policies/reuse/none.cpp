// No reuse: every prompt is computed in full and nothing is kept for others. The baseline of every
// comparison.
#include "policies/reuse.hpp"

namespace refrain {
namespace {

class none final : public reuse {
 public:
  bool shares() const override { return false; }
  std::int64_t plan(const reuse_offer&) override { return 0; }
};

const register_policy<reuse_entry> registration{
    {policy_info{.name = "none",
                 .summary = "computes every prompt in full",
                 .source = "the baseline: a server without prefix caching"},
     [](const parameters&) -> std::unique_ptr<reuse> { return std::make_unique<none>(); }}};

}  // namespace
}  // namespace refrain
