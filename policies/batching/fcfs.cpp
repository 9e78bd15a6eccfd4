// First come, first served: waiting requests enter in the order of their arrival (a preempted one
// at the head), and while the first does not fit nobody passes it.
#include "policies/batching.hpp"

namespace refrain {
namespace {

class fcfs final : public batching {
 public:
  explicit fcfs(const parameters& values)
      : token_budget_{values.integer("token_budget")},
        max_sequences_{values.integer("max_sequences")} {}

  token_count token_budget() const override { return token_budget_; }
  std::int64_t max_sequences() const override { return max_sequences_; }

 private:
  token_count token_budget_;
  std::int64_t max_sequences_;
};

const register_policy<batching_entry> registration{
    {policy_info{.name = "fcfs",
                 .summary = "first come, first served, chunked prefill under a token budget",
                 .source = "Sarathi-Serve (Agrawal et al., OSDI 2024); vLLM's scheduler",
                 .parameters = {{.name = "token_budget",
                                 .type = parameter_type::integer,
                                 .standard = "8192",
                                 .description = "tokens an iteration computes at most",
                                 .low = 1,
                                 .high = 1e9},
                                {.name = "max_sequences",
                                 .type = parameter_type::integer,
                                 .standard = "256",
                                 .description = "requests that run at once at most",
                                 .low = 1,
                                 .high = 1e9}}},
     [](const parameters& values) -> std::unique_ptr<batching> {
       return std::make_unique<fcfs>(values);
     }}};

}  // namespace
}  // namespace refrain
