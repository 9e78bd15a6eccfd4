#include "scenarios/execution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/results_reader.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "policies/eviction.hpp"
#include "traces/quantity.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

using recorded_iterations = std::vector<std::vector<timed_iteration>>;

/// What was computed, and how, is told by the recorded run; times of anything else are refused.
void check_same_execution(const scenario_settings& settings, const contender_description& then,
                          const std::string& path) {
  for (const char* key : {"execution.model", "execution.precision"}) {
    auto name_of = [](const std::string& value) { return value.substr(value.rfind('/') + 1); };
    std::string computed = name_of(setting_of(then, key));
    std::string asked = name_of(settings.text(key));
    if (computed != asked) {
      throw input_error{settings.where("execution.replay"),
                        fmt::format("{}: \"{}\" was computed with {} = \"{}\", and here it is "
                                    "\"{}\"",
                                    path, then.name, key, computed, asked)};
    }
  }
}

/// Iterations of a contender by executor, from a result file.
recorded_iterations read_iterations(const scenario_settings& settings,
                                    const std::string& contender) {
  const std::string& path = settings.at("execution.replay").path;
  const std::string& where = settings.where("execution.replay");
  results_reader results{path};
  std::vector<std::string_view> names;
  for (const contender_description& each : results.run().contenders) {
    names.push_back(each.name);
  }
  auto found = std::ranges::find(names, contender);
  if (found == names.end()) {
    throw input_error{where,
                      fmt::format("{}: {}", path, unknown_name("contender", contender, names))};
  }
  auto index = static_cast<std::size_t>(found - names.begin());
  if (!results.has(index, "iterations")) {
    throw input_error{where, fmt::format("{}: \"{}\" was not computed, so its iterations were not "
                                         "recorded; expected a run with execution.engine = \"cpu\"",
                                         path, contender)};
  }
  check_same_execution(settings, results.run().contenders[index], path);
  recorded_iterations all;
  table rows = results.read(index, "iterations");
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    auto at = [&](std::string_view name) { return rows.at(name).integers()[i]; };
    auto executor = static_cast<std::size_t>(at("executor"));
    all.resize(std::max(all.size(), executor + 1));
    all[executor].push_back({at("prefill_tokens"), at("prefill_context"), at("decodes"),
                             at("decode_context"), sim_time{at("took_ns")}});
  }
  return all;
}

bool computes(const scenario_settings& settings) {
  return settings.text("execution.engine") == "cpu";
}

}  // namespace

void execution_planner::plan(const scenario_settings& settings, const std::string& contender,
                             const std::string& file, contender_plan& into) {
  execution_plan& execution = into.execution;
  execution.precision =
      precision_of(settings.text("execution.precision"), settings.where("execution.precision"));
  if (!computes(settings) && !(settings.has("execution.model") && !settings.has("model.name"))) {
    into.model = load_model(settings.required("model.name", file).path);
  } else {
    if (settings.has("model.name")) {
      throw input_error{settings.where("model.name"),
                        "execution.engine = \"cpu\" computes with execution.model; leave this out"};
    }
    settings.required("execution.model", file);
    std::shared_ptr<const llama_weights> weights = weights_of(settings);
    into.model = shape_of(*weights);
    execution.weights = computes(settings) ? weights : nullptr;
  }
  if (settings.has("execution.replay") && computes(settings)) {
    recorded_iterations all = read_iterations(settings, contender);
    all.resize(static_cast<std::size_t>(into.executors));
    execution.recorded = std::make_shared<const recorded_iterations>(std::move(all));
    execution.weights = nullptr;
  }
}

// One session of each of so many equal parts of the workload, in order of their first requests.
sample_plan execution_planner::sample(const scenario_settings& settings, const std::string& file,
                                      const contender_plan& plan, std::uint64_t sessions) {
  sample_plan sample;
  auto parts =
      std::min(static_cast<std::uint64_t>(settings.integer("execution.sample.sessions")), sessions);
  if (parts == 0) {
    return sample;
  }
  auto refuse = [&](std::string_view why) {
    throw input_error{settings.where("execution.sample.sessions"), std::string{why}};
  };
  if (plan.execution.weights != nullptr || plan.execution.recorded != nullptr) {
    refuse("execution.engine = \"cpu\" computes every request already; leave the sample out");
  }
  if (plan.disaggregation.prefill_executors > 0) {
    refuse("takes requests that one executor serves; not with disaggregation.prefill_gpus");
  }
  settings.required("execution.model", file);
  sample.weights = weights_of(settings);
  sample.precision = plan.execution.precision;
  sample.tokens_max = settings.integer("execution.sample.tokens_max");
  random_stream draws{plan.seed, "sample of sessions"};
  for (std::uint64_t i = 0; i < parts; ++i) {
    std::uint64_t begin = i * sessions / parts;
    std::uint64_t end = (i + 1) * sessions / parts;
    sample.sessions.emplace_back(begin + draws.below(end - begin));
  }
  return sample;
}

std::shared_ptr<const llama_weights> execution_planner::weights_of(
    const scenario_settings& settings) {
  const std::string& name = settings.at("execution.model").path;
  std::shared_ptr<const llama_weights>& known = weights_[name];
  if (known == nullptr) {
    bool is_known = name == tiny_name || name.ends_with(".gguf");
    if (!is_known) {
      throw input_error{
          settings.where("execution.model"),
          fmt::format("expected \"{}\" or a path ending in .gguf, found \"{}\"", tiny_name, name)};
    }
    known = std::make_shared<const llama_weights>(load_weights(name));
  }
  return known;
}

void check_replay(const scenario_settings& settings, std::span<const contender_plan> contenders) {
  auto plays = [](const contender_plan& plan) { return plan.execution.recorded != nullptr; };
  if (settings.has("execution.replay") && std::ranges::none_of(contenders, plays)) {
    throw input_error{settings.where("execution.replay"),
                      "no contender has execution.engine = \"cpu\", so nothing would be played "
                      "again; set it, or leave this out"};
  }
}

std::string warn_of_positions(const contender_plan& plan, std::int64_t longest_blocks) {
  const llama_weights* weights = plan.execution.weights.get();
  std::int64_t least_tokens = (longest_blocks - 1) * plan.keys.block_tokens + 1;
  if (weights == nullptr || least_tokens <= weights->shape.context) {
    return "";
  }
  return fmt::format(
      "the longest request has at least {} tokens and {} was trained with {}: what is computed "
      "behind them means nothing, its times do",
      print_count(least_tokens), weights->name, print_count(weights->shape.context));
}

bool is_idle_execution(std::string_view key, const contender_plan& plan) {
  bool computes = plan.execution.weights != nullptr || plan.execution.recorded != nullptr ||
                  plan.sample.weights != nullptr;
  return !computes && (key == "execution.model" || key == "execution.precision");
}

namespace {

void check_words(const scenario_settings& settings, const contender_plan& plan,
                 const trace_info& info) {
  for (const auto* weights : {plan.execution.weights.get(), plan.sample.weights.get()}) {
    if (weights != nullptr && info.words != nullptr &&
        info.words->vocabulary() > weights->shape.vocabulary) {
      throw input_error{
          settings.where("workload.tokenizer"),
          fmt::format("has {} tokens, and {}, which computes them, knows {}",
                      info.words->vocabulary(), weights->name, weights->shape.vocabulary)};
    }
  }
}

}  // namespace

void check_execution(const scenario_settings& settings, const contender_plan& plan,
                     const trace_info& info, const reuse_needs& reusing) {
  check_words(settings, plan, info);
  if (!computes(settings)) {
    return;
  }
  auto refuse = [&](std::string_view key, std::string_view why) {
    throw input_error{settings.where(key), fmt::format("execution.engine = \"cpu\" {}", why)};
  };
  if (!plan.tiers.empty()) {
    refuse(fmt::format("tiers.{}.capacity", plan.tiers.front().name),
           "keeps KV in the executor's own memory only; leave the tiers below it out");
  }
  if (plan.tensor_parallel > 1) {
    refuse("hardware.tensor_parallel", "computes on one rank; expected 1");
  }
  if (plan.disaggregation.prefill_executors > 0) {
    refuse("disaggregation.prefill_gpus", "does not hand KV over; expected 0");
  }
  if (reusing.chunk_kinds != 0) {
    refuse("policies.reuse", "takes leading blocks only; expected none, prefix or reorder");
  }
  if (registry<eviction_entry>::find(plan.eviction.name, "policies.eviction")
          .needs(plan.eviction.values)
          .unbounded) {
    refuse("policies.eviction",
           fmt::format("needs room for every block, and \"{}\" takes none", plan.eviction.name));
  }
  if (info.has_chains && !plan.keys.full_blocks_only) {
    refuse("kv.full_blocks_only",
           "cannot share a block that is not full: what it holds is not what the whole one would; "
           "expected true");
  }
}

}  // namespace refrain
