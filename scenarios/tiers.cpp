#include "scenarios/tiers.hpp"

#include <fmt/format.h>

#include "policies/admission.hpp"
#include "policies/eviction.hpp"
#include "scenarios/schema.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

struct tier_kind_name {
  tier_kind kind;
  std::string_view name;
};
constexpr tier_kind_name kinds[] = {
    {tier_kind::host, "host"}, {tier_kind::nvme, "nvme"}, {tier_kind::remote, "remote"}};

class tier_reader {
 public:
  tier_reader(const scenario_settings& settings, const tier_kind_name& tier)
      : settings_{settings}, tier_{tier} {}

  bool exists() const { return settings_.has(key("capacity")); }

  void refuse_settings() const {
    std::string prefix = key("");
    for (const setting_rule& rule : scenario_schema()) {
      if (rule.key.starts_with(prefix) && settings_.has(rule.key) &&
          !settings_.at(rule.key).where.empty()) {
        throw input_error{
            settings_.where(rule.key),
            fmt::format("is set, but not {}, so there is no such tier", key("capacity"))};
      }
    }
  }

  tier_plan read() const {
    tier_plan plan{.kind = tier_.kind, .name = std::string{tier_.name}};
    plan.capacity = bytes("capacity");
    plan.load = speed("bandwidth");
    plan.store = speed("write_bandwidth");
    plan.own_links = tier_.kind == tier_kind::host;
    plan.per_node = tier_.kind != tier_kind::remote;
    plan.staging = bytes("staging");
    const std::string& write = settings_.text(key("write"));
    plan.write = write == "demote"    ? tier_write::demote
                 : write == "through" ? tier_write::through
                                      : tier_write::selective;
    const std::string& load = settings_.text(key("load"));
    plan.loading = load == "auto"     ? tier_load::automatic
                   : load == "always" ? tier_load::always
                                      : tier_load::split;
    plan.eviction = eviction();
    plan.admission = admission();
    return plan;
  }

 private:
  std::string key(std::string_view leaf) const {
    return fmt::format("tiers.{}.{}", tier_.name, leaf);
  }
  byte_count bytes(std::string_view leaf) const {
    return byte_count{static_cast<std::int64_t>(settings_.number(key(leaf)))};
  }
  link_speed speed(std::string_view bandwidth) const {
    return {settings_.number(key(bandwidth)), settings_.time(key("latency")),
            settings_.time(key("overhead")), bytes("piece"), settings_.integer(key("concurrency"))};
  }
  policy_choice eviction() const {
    std::string own = key("policies.eviction");
    std::string used = settings_.has(own) ? own : "policies.eviction";
    const setting_value& value = settings_.at(used);
    const auto& entry = registry<eviction_entry>::find(value.text, settings_.where(used));
    policy_choice choice{value.text, {entry.info.parameters, value.values, settings_.where(used)}};
    eviction_needs needs = entry.needs(choice.values);
    if (needs.tree || needs.queue > 0 || needs.sessions || needs.future || needs.unbounded ||
        needs.costs || needs.categories || needs.hints || needs.steps || needs.expiry) {
      throw input_error{
          settings_.where(used),
          fmt::format("\"{}\" needs what a tier below the GPU does not know; set {} to "
                      "another policy",
                      value.text, own)};
    }
    return choice;
  }

  policy_choice admission() const {
    std::string own = key("policies.admission");
    const setting_value& value = settings_.at(own);
    const auto& entry = registry<admission_entry>::find(value.text, settings_.where(own));
    policy_choice choice{value.text, {entry.info.parameters, value.values, settings_.where(own)}};
    if (entry.needs(choice.values).depth) {
      throw input_error{
          settings_.where(own),
          fmt::format("\"{}\" needs places in a chain, which a tier below the GPU does not know",
                      value.text)};
    }
    return choice;
  }

  const scenario_settings& settings_;
  const tier_kind_name& tier_;
};

}  // namespace

std::vector<tier_plan> tiers_of(const scenario_settings& settings, const eviction_needs& above) {
  std::vector<tier_plan> tiers;
  for (const tier_kind_name& kind : kinds) {
    tier_reader tier{settings, kind};
    if (!tier.exists()) {
      tier.refuse_settings();
    } else if (!above.unbounded) {
      tiers.push_back(tier.read());
    }
  }
  return tiers;
}

}  // namespace refrain
