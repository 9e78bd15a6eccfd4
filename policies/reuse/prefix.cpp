// Prefix reuse: the longest resident leading run of the prompt is taken, exact up to floating-point
// order. With a threshold, only where the run holds that many tokens.
#include "policies/reuse.hpp"

namespace refrain {
namespace {

class prefix final : public reuse {
 public:
  explicit prefix(const parameters& values) : min_tokens_{values.integer("min_tokens")} {}

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override {
    return offer.leading_tokens >= min_tokens_ ? offer.leading_blocks : 0;
  }

 private:
  std::int64_t min_tokens_;
};

const register_policy<reuse_entry> registration{
    {policy_info{.name = "prefix",
                 .summary = "takes the longest resident prefix of the prompt",
                 .source = "vLLM automatic prefix caching; SGLang RadixAttention",
                 .parameters = {{.name = "min_tokens",
                                 .type = parameter_type::integer,
                                 .standard = "0",
                                 .description = "a shorter resident prefix is not taken, in tokens",
                                 .low = 0}}},
     [](const parameters& values) -> std::unique_ptr<reuse> {
       return std::make_unique<prefix>(values);
     }}};

}  // namespace
}  // namespace refrain
