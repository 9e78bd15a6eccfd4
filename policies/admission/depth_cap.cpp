// Depth cap: only the first blocks of a chain may enter. Heads of prompts are what many requests
// share, tails what one session comes back to, if anybody does.
#include "policies/admission.hpp"

namespace refrain {
namespace {

class depth_cap final : public admission {
 public:
  static admission_needs needs(const parameters&) { return {.depth = true}; }

  depth_cap(const parameters& values, const admission_setup&)
      : blocks_{static_cast<std::size_t>(values.integer("blocks"))} {}

  std::size_t leading(std::span<const block_key>) override { return blocks_; }

 private:
  std::size_t blocks_;
};

const register_admission<depth_cap> registration{
    policy_info{.name = "depth_cap",
                .summary = "only the first blocks of a chain may enter",
                .source = "caching of system prompts and document heads only, as gateways offer it",
                .parameters = {{.name = "blocks",
                                .type = parameter_type::integer,
                                .standard = "64",
                                .description = "blocks from the head of a chain that may enter",
                                .low = 0,
                                .high = 1e9}}}};

}  // namespace
}  // namespace refrain
