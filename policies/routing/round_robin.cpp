// Round robin: executors in turn, whatever they hold or have to do.
#include "policies/routing.hpp"

namespace refrain {
namespace {

class round_robin final : public routing {
 public:
  std::size_t choose(const routed_request&, std::span<const executor_view> executors) override {
    return next_++ % executors.size();
  }

 private:
  std::size_t next_ = 0;
};

const register_policy<routing_entry> registration{
    {policy_info{.name = "round_robin",
                 .summary = "sends requests to the executors in turn",
                 .source = "the default of most load balancers"},
     [](const parameters&) -> std::unique_ptr<routing> {
       return std::make_unique<round_robin>();
     }}};

}  // namespace
}  // namespace refrain
