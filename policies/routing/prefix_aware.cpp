// Prefix-aware routing as SGLang's router has it: while load is balanced, the executor that holds
// most of the prompt, if that is enough of it; else, and whenever load is out of balance, the one
// with the fewest requests. Load is requests sent and not answered. Left out: its tree over text
// (here keys of blocks, from the executors' own events) and the choice of the smallest tree where
// nothing matches (here the least loaded executor). Of equal matches the less loaded one is taken.
#include <tuple>

#include "policies/routing.hpp"

namespace refrain {
namespace {

class prefix_aware final : public routing {
 public:
  explicit prefix_aware(const parameters& values)
      : balance_abs_{values.integer("balance_abs")},
        balance_rel_{values.real("balance_rel")},
        threshold_{values.real("threshold")} {}

  std::size_t choose(const routed_request& request,
                     std::span<const executor_view> executors) override {
    std::size_t shortest = least(executors, load);
    if (!balanced(executors, load(executors[shortest]))) {
      return shortest;
    }
    std::size_t best = least(executors, [](const executor_view& e) {
      return std::tuple{-e.matched_tokens.get(), e.outstanding_requests};
    });
    auto matched = static_cast<double>(executors[best].matched_tokens);
    return matched > threshold_ * static_cast<double>(request.input_tokens) ? best : shortest;
  }

 private:
  static std::int64_t load(const executor_view& e) { return e.outstanding_requests; }

  bool balanced(std::span<const executor_view> executors, std::int64_t lowest) const {
    std::size_t longest = least(executors, [](const executor_view& e) { return -load(e); });
    std::int64_t highest = load(executors[longest]);
    return highest - lowest <= balance_abs_ ||
           static_cast<double>(highest) <= balance_rel_ * static_cast<double>(lowest);
  }

  std::int64_t balance_abs_;
  double balance_rel_;
  double threshold_;
};

const register_policy<routing_entry> registration{
    {policy_info{
         .name = "prefix_aware",
         .summary = "sends a prompt where most of it is cached, unless load is out of balance",
         .source = "SGLang router, cache-aware policy (v0.4, December 2024)",
         .parameters = {{.name = "balance_abs",
                         .type = parameter_type::integer,
                         .standard = "32",
                         .description = "requests by which the longest queue may exceed the "
                                        "shortest"},
                        {.name = "balance_rel",
                         .type = parameter_type::real,
                         .standard = "1.1",
                         .description = "or this many times the shortest, whichever is more",
                         .low = 1},
                        {.name = "threshold",
                         .type = parameter_type::real,
                         .standard = "0.5",
                         .description = "share of the prompt that must be cached to be followed",
                         .low = 0,
                         .high = 1}}},
     [](const parameters& values) -> std::unique_ptr<routing> {
       return std::make_unique<prefix_aware>(values);
     },
     routing_needs{.matches = true}}};

}  // namespace
}  // namespace refrain
