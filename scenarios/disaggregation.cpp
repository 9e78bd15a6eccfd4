#include "scenarios/disaggregation.hpp"

#include <fmt/format.h>

#include "policies/routing.hpp"
#include "scenarios/schema.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

void refuse_settings(const scenario_settings& settings) {
  for (const setting_rule& rule : scenario_schema()) {
    bool ours =
        rule.key.starts_with("disaggregation.") && rule.key != "disaggregation.prefill_gpus";
    if (ours && settings.has(rule.key) && !settings.at(rule.key).where.empty()) {
      throw input_error{settings.where(rule.key),
                        "is set, but not disaggregation.prefill_gpus, so every executor does both"};
    }
  }
}

}  // namespace

disaggregation_plan disaggregation_of(const scenario_settings& settings, std::int64_t executors,
                                      std::int64_t ranks) {
  disaggregation_plan plan;
  std::int64_t gpus = settings.integer("disaggregation.prefill_gpus");
  if (gpus == 0) {
    refuse_settings(settings);
    return plan;
  }
  if (gpus % ranks != 0 || gpus / ranks >= executors) {
    throw input_error{
        settings.where("disaggregation.prefill_gpus"),
        fmt::format("{} of hardware.count = {} GPUs cannot only prefill: they come in groups of "
                    "hardware.tensor_parallel = {}, and at least one group must decode",
                    gpus, executors * ranks, ranks)};
  }
  plan.prefill_executors = gpus / ranks;
  plan.handoff = {settings.number("disaggregation.bandwidth"),
                  settings.time("disaggregation.latency"), settings.time("disaggregation.overhead"),
                  byte_count{static_cast<std::int64_t>(settings.number("disaggregation.piece"))},
                  settings.integer("disaggregation.concurrency")};
  constexpr std::string_view key = "disaggregation.policies.routing";
  const setting_value& value = settings.at(key);
  const auto& entry = registry<routing_entry>::find(value.text, settings.where(key));
  plan.routing = {value.text, {entry.info.parameters, value.values, settings.where(key)}};
  return plan;
}

}  // namespace refrain
