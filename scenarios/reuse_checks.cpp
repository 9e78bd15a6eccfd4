#include "scenarios/reuse_checks.hpp"

#include <fmt/format.h>

#include <string_view>

#include "policies/eviction.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

[[noreturn]] void refuse(const scenario_settings& settings, const contender_plan& plan,
                         std::string_view key, std::string_view reason) {
  throw input_error{settings.where(key), fmt::format("\"{}\" {}", plan.reuse.name, reason)};
}

void check_workload(const scenario_settings& settings, const contender_plan& plan,
                    const trace_info& info, const reuse_needs& needs) {
  constexpr std::string_view key = "policies.reuse";
  if (!info.has_content) {
    refuse(settings, plan, key,
           info.has_chains
               ? "needs prompts by content, and this trace has block ids, which name prefixes"
               : "needs prompts by content, and this trace has lengths only");
  }
  if (needs.versions && !info.has_versions) {
    refuse(settings, plan, key, "needs documents with versions, and this trace has none");
  }
  if (needs.neighbours && info.texts == nullptr) {
    refuse(settings, plan, key,
           "needs embeddings or tokens of texts, and this trace gives neither");
  }
}

/// Chunks are loaded whole, before the request enters.
void check_loading(const scenario_settings& settings, const contender_plan& plan) {
  if (plan.disaggregation.prefill_executors > 0) {
    refuse(settings, plan, "disaggregation.prefill_gpus", "cannot be handed over yet; expected 0");
  }
  if (plan.overlap) {
    refuse(settings, plan, "tiers.overlap", "loads chunks whole; expected false");
  }
  if (plan.waiting == load_wait::best_effort) {
    refuse(settings, plan, "tiers.wait", "loads chunks whole; expected \"auto\" or \"wait\"");
  }
  for (const tier_plan& tier : plan.tiers) {
    if (tier.loading == tier_load::split) {
      refuse(settings, plan, fmt::format("tiers.{}.load", tier.name),
             "loads chunks whole; expected \"auto\" or \"always\"");
    }
  }
}

}  // namespace

void check_reuse(const scenario_settings& settings, const contender_plan& plan,
                 const trace_info& info, const reuse_needs& needs) {
  if (needs.chunk_kinds == 0 && !needs.orders) {
    return;
  }
  check_workload(settings, plan, info, needs);
  bool sees_future = registry<eviction_entry>::find(plan.eviction.name, "policies.eviction")
                         .needs(plan.eviction.values)
                         .future;
  if (sees_future && needs.orders) {
    throw input_error{settings.where("policies.eviction"),
                      fmt::format("\"{}\" cannot know in which order \"{}\" will put documents",
                                  plan.eviction.name, plan.reuse.name)};
  }
  if (needs.chunk_kinds != 0) {
    check_loading(settings, plan);
  }
}

void check_documents(const scenario_settings& settings, const contender_plan& plan,
                     const workload_survey& counts, const reuse_needs& needs) {
  if ((needs.chunk_kinds != 0 || needs.orders) && counts.chunks == 0) {
    refuse(settings, plan, "policies.reuse",
           "needs documents, and no prompt of this workload holds any");
  }
}

}  // namespace refrain
