// A plug-in of another kind; under POLICY_NAME="fcfs" its name is taken, so that it is refused.
#include <memory>

#include "policies/batching.hpp"

#ifndef POLICY_NAME
#define POLICY_NAME "one_by_one"
#endif

namespace refrain {
namespace {

class one_by_one final : public batching {
 public:
  token_count token_budget() const override { return token_count{512}; }
  std::int64_t max_sequences() const override { return 1; }
};

const register_policy<batching_entry> registration{
    {policy_info{.name = POLICY_NAME, .summary = "one request at a time", .source = "made up"},
     [](const parameters&) -> std::unique_ptr<batching> {
       return std::make_unique<one_by_one>();
     }}};

}  // namespace
}  // namespace refrain
