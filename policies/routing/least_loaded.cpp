// Least loaded: the executor with the least work outstanding, the first of equals.
#include "policies/routing.hpp"

namespace refrain {
namespace {

class least_loaded final : public routing {
 public:
  explicit least_loaded(const parameters& values) : by_tokens_{values.choice("load") == "tokens"} {}

  std::size_t choose(const routed_request&, std::span<const executor_view> executors) override {
    return least(executors, [this](const executor_view& e) { return load(e); });
  }

 private:
  std::int64_t load(const executor_view& e) const {
    return by_tokens_ ? e.outstanding_tokens.get() : e.outstanding_requests;
  }

  bool by_tokens_;
};

const register_policy<routing_entry> registration{
    {policy_info{.name = "least_loaded",
                 .summary = "sends a request where the least work is outstanding",
                 .source = "join the shortest queue (Winston 1977)",
                 .parameters = {{.name = "load",
                                 .type = parameter_type::choice,
                                 .standard = "requests",
                                 .description = "what is counted as outstanding",
                                 .choices = {"requests", "tokens"}}}},
     [](const parameters& values) -> std::unique_ptr<routing> {
       return std::make_unique<least_loaded>(values);
     }}};

}  // namespace
}  // namespace refrain
