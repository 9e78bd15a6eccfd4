// Cost-based routing in the form of NVIDIA Dynamo's KV router: the executor where the prompt's
// uncached tokens, with those queued before it, and the context being decoded cost least. Counted
// in tokens where Dynamo counts blocks, which scales every cost alike. Left out: sampling by
// softmax (its temperature is 0 by default) and its credit for overlap (1, one uncached token less
// per matched one). Of equal costs the executor with fewer requests is taken.
#include <tuple>

#include "policies/routing.hpp"

namespace refrain {
namespace {

class cost_based final : public routing {
 public:
  explicit cost_based(const parameters& values)
      : prefill_weight_{values.real("prefill_weight")},
        decode_weight_{values.real("decode_weight")} {}

  std::size_t choose(const routed_request& request,
                     std::span<const executor_view> executors) override {
    return least(executors, [&](const executor_view& e) {
      auto prefill =
          static_cast<double>(e.prefill_tokens + (request.input_tokens - e.matched_tokens));
      auto decode = static_cast<double>(e.decode_context);
      return std::tuple{prefill_weight_ * prefill + decode_weight_ * decode,
                        e.outstanding_requests};
    });
  }

 private:
  double prefill_weight_;
  double decode_weight_;
};

const register_policy<routing_entry> registration{
    {policy_info{.name = "cost_based",
                 .summary = "sends a prompt where uncached prefill and decode load cost least",
                 .source = "NVIDIA Dynamo, KV router (2025)",
                 .parameters = {{.name = "prefill_weight",
                                 .type = parameter_type::real,
                                 .standard = "1",
                                 .description = "of a prompt token to be computed, queued ones too",
                                 .low = 0,
                                 .high = 1e9},
                                {.name = "decode_weight",
                                 .type = parameter_type::real,
                                 .standard = "1",
                                 .description = "of a token of context being decoded",
                                 .low = 0,
                                 .high = 1e9}}},
     [](const parameters& values) -> std::unique_ptr<routing> {
       return std::make_unique<cost_based>(values);
     },
     routing_needs{.matches = true, .progress = true}}};

}  // namespace
}  // namespace refrain
