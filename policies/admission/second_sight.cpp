// Second sight: a block may enter when it has been seen before. A request is walked in the order of
// its chain up to the first block never seen; that one and all deeper ones are marked as seen, and
// none of them enters, so nothing is stored behind a gap. With history kept a mark lasts for ever;
// forgotten, it ends when its block is evicted. The marks grow with the distinct blocks. Left out:
// vLLM's bound on the number of marks (64k, least recently used first).
#include <absl/container/flat_hash_set.h>

#include "policies/admission.hpp"
#include "policies/key_map.hpp"

namespace refrain {
namespace {

class second_sight final : public admission {
 public:
  second_sight(const parameters& values, const admission_setup&)
      : kept_{values.choice("history") == "kept"} {}

  std::size_t leading(std::span<const block_key> chain) override {
    std::size_t first_new = 0;
    while (first_new < chain.size() && seen_.contains(chain[first_new])) {
      ++first_new;
    }
    seen_.insert(chain.begin() + static_cast<std::ptrdiff_t>(first_new), chain.end());
    return first_new;
  }
  void on_evict(block_key key) override {
    if (!kept_) {
      seen_.erase(key);
    }
  }

 private:
  bool kept_;
  absl::flat_hash_set<block_key, key_hash> seen_;
};

const register_admission<second_sight> registration{policy_info{
    .name = "second_sight",
    .summary = "a block may enter from the second time on that it is seen",
    .source = "SGLang HiCache's write_through_selective; vLLM's store_threshold 2",
    .parameters = {{.name = "history",
                    .type = parameter_type::choice,
                    .standard = "forgotten",
                    .description = "kept: a block that was evicted has been seen all the same",
                    .choices = {"forgotten", "kept"}}}}};

}  // namespace
}  // namespace refrain
