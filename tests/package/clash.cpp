// A policy whose name is taken: a plug-in with it is refused.
#include <memory>

#include "policies/batching.hpp"

namespace refrain {
namespace {

class one_by_one final : public batching {
 public:
  token_count token_budget() const override { return token_count{512}; }
  std::int64_t max_sequences() const override { return 1; }
};

const register_policy<batching_entry> registration{
    {policy_info{.name = "fcfs", .summary = "one request at a time", .source = "made up"},
     [](const parameters&) -> std::unique_ptr<batching> {
       return std::make_unique<one_by_one>();
     }}};

}  // namespace
}  // namespace refrain
