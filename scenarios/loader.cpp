// Contenders that cut prompts alike share one pass over the workload and one future.
#include "scenarios/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "gpu/capacity.hpp"
#include "gpu/cost_model/cost_model.hpp"
#include "policies/admission.hpp"
#include "policies/batching.hpp"
#include "policies/eviction.hpp"
#include "policies/plugin.hpp"
#include "policies/reuse.hpp"
#include "policies/routing.hpp"
#include "refrain_version.hpp"
#include "scenarios/disaggregation.hpp"
#include "scenarios/document.hpp"
#include "scenarios/execution.hpp"
#include "scenarios/grouped_warnings.hpp"
#include "scenarios/knowledge.hpp"
#include "scenarios/needs_checks.hpp"
#include "scenarios/retrieval.hpp"
#include "scenarios/reuse_checks.hpp"
#include "scenarios/tiers.hpp"
#include "scenarios/workload.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

constexpr std::int64_t standard_block_tokens = 16;

template <class Entry>
policy_choice choose(const scenario_settings& settings) {
  std::string key = fmt::format("policies.{}", Entry::kind);
  const setting_value& value = settings.at(key);
  const Entry& entry = registry<Entry>::find(value.text, settings.where(key));
  return {value.text, parameters{entry.info.parameters, value.values, settings.where(key)}};
}

load_wait wait_of(std::string_view word) {
  return word == "auto"   ? load_wait::automatic
         : word == "wait" ? load_wait::wait
                          : load_wait::best_effort;
}

eviction_needs needs_of(const policy_choice& eviction) {
  return registry<eviction_entry>::find(eviction.name, "policies.eviction").needs(eviction.values);
}

routing_needs needs_of_routing(const policy_choice& routing) {
  return registry<routing_entry>::find(routing.name, "policies.routing").needs;
}

/// The price of a token, and what context adds to it: two prefills of the cost model.
recompute_model recompute_of(cost_model computing) {
  constexpr token_count tokens{2048};
  constexpr token_count context{8192};
  double alone = to_seconds(computing.iteration({.prefill = {{tokens, token_count{0}}}}));
  double behind = to_seconds(computing.iteration({.prefill = {{tokens, context}}}));
  double per_token = static_cast<double>(tokens.get());
  double per_pair = per_token * static_cast<double>(context.get());
  return {alone / per_token, (behind - alone) / per_pair};
}

/// Adds a policy and its parameters to a contender's settings.
void describe_policy(const policy_choice& choice, std::string_view key,
                     std::vector<setting>& into) {
  into.emplace_back(key, choice.name);
  for (const auto& [name, text] : choice.values.texts()) {
    into.emplace_back(fmt::format("{}.{}", key, name), text);
  }
}

/// Whether the key belongs to a tier that the contender does not have.
bool is_idle_tier(std::string_view key, const contender_plan& plan) {
  bool of_tier = key.starts_with("tiers.") && !key.starts_with("tiers.gpu.");
  return of_tier && std::ranges::none_of(plan.tiers, [key](const tier_plan& tier) {
           return key == "tiers.wait" || key == "tiers.overlap" ||
                  key.starts_with("tiers." + tier.name + ".");
         });
}

bool is_idle_link(std::string_view key, const contender_plan& plan) {
  return plan.disaggregation.prefill_executors == 0 && key.starts_with("disaggregation.");
}

class run_loader {
 public:
  explicit run_loader(const run_request& request)
      : request_{request}, document_{scenario_document::read(request.scenario)} {
    for (const std::string& assignment : request.sets) {
      document_.set(assignment);
    }
    if (request.seed) {
      document_.set(fmt::format("seed={}", *request.seed));
    }
    base_ = document_.resolved();
    load_plugins();
  }

  run_plan load() {
    std::vector<const contender_section*> chosen = chosen_contenders();
    // Also of those that --only leaves out: a scenario is right as a whole.
    for (const contender_section& each : document_.contenders()) {
      check_policies(each);
    }
    workload_ = scan_workload(base_, document_.file());
    plan_.warnings = workload_.warnings;
    plan_.workload.open = workload_.open;
    plan_.workload.info = workload_.info;
    plan_.workload.serial = base_.boolean("workload.serial");
    const std::string& seen = base_.text("results.seen");
    bool is_trace = workload_.info.has_content && base_.text("workload.format") != "generator";
    plan_.workload.count_seen =
        (seen == "on" || (seen == "auto" && is_trace)) && workload_.documents == nullptr;
    describe_run();
    for (const contender_section* each : chosen) {
      add_contender(*each);
    }
    check_replay(base_, plan_.contenders);
    warnings_.append_to(plan_.warnings);
    warn_of_cut_generator();
    describe_bounds();
    return std::move(plan_);
  }

 private:
  /// Block tokens, full blocks only, kinds of chunks, and the number of the search that fills the
  /// prompts.
  using cut_name = std::tuple<std::int64_t, bool, std::uint8_t, std::size_t>;

  /// Before any policy is looked up.
  void load_plugins() {
    auto load = [this](const std::string& file, const std::string& where) {
      const loaded_plugin* plugin = &load_plugin(file, where);
      if (std::ranges::find(plugins_, plugin) == plugins_.end()) {
        plugins_.push_back(plugin);
      }
    };
    for (const std::string& file : request_.plugins) {
      load(file, "--plugin");
    }
    if (base_.has("plugins")) {
      for (const std::string& file : base_.at("plugins").paths) {
        load(file, base_.where("plugins"));
      }
    }
  }

  std::vector<const contender_section*> chosen_contenders() const {
    std::vector<std::string_view> names;
    for (const contender_section& each : document_.contenders()) {
      names.push_back(each.name);
    }
    for (const std::string& name : request_.only) {
      if (std::ranges::find(names, name) == names.end()) {
        throw input_error{"--only", unknown_name("contender", name, names)};
      }
    }
    std::vector<const contender_section*> chosen;
    for (const contender_section& each : document_.contenders()) {
      if (request_.only.empty() ||
          std::ranges::find(request_.only, each.name) != request_.only.end()) {
        chosen.push_back(&each);
      }
    }
    return chosen;
  }

  /// Cheap to check, so it comes before the trace is read.
  void check_policies(const contender_section& contender) const {
    scenario_settings settings = document_.resolved(contender);
    choose<reuse_entry>(settings);
    choose<eviction_entry>(settings);
    choose<admission_entry>(settings);
    choose<batching_entry>(settings);
    choose<routing_entry>(settings);
  }

  key_scheme scheme_of(const scenario_settings& settings) const {
    std::int64_t block = settings.integer("kv.block_tokens");
    std::int64_t own = workload_.info.block_tokens;
    if (block == 0) {
      block = own > 0 ? own : standard_block_tokens;
    }
    return {token_count{block}, token_count{own}, settings.boolean("kv.full_blocks_only")};
  }

  const workload_survey& survey(const contender_plan& plan, bool with_future) {
    const key_scheme& scheme = plan.keys;
    workload_survey& known = surveys_[{scheme.block_tokens, scheme.full_blocks_only,
                                       scheme.chunk_kinds, plan.retrieval.number}];
    if (known.requests == 0 || (with_future && known.ahead == nullptr)) {
      std::unique_ptr<source> rows = with_documents(workload_.open(), plan);
      known = survey_workload(*rows, scheme, with_future);
    }
    return known;
  }

  void add_contender(const contender_section& contender) {
    scenario_settings settings = document_.resolved(contender);
    try {
      plan_contender(contender.name, settings);
    } catch (const input_error& error) {
      throw settings.located(error);
    }
  }

  void plan_contender(const std::string& name, const scenario_settings& settings) {
    contender_plan plan{.name = name, .keys = scheme_of(settings)};
    plan.seed = static_cast<std::uint64_t>(settings.integer("seed"));
    plan.reuse = choose<reuse_entry>(settings);
    reuse_needs reusing = needs_of_reuse(plan.reuse.name, plan.reuse.values);
    plan.keys.chunk_kinds = reusing.chunk_kinds;
    plan.eviction = choose<eviction_entry>(settings);
    plan.admission = choose<admission_entry>(settings);
    plan.batching = choose<batching_entry>(settings);
    plan.routing = choose<routing_entry>(settings);
    plan.gpu = load_profile(settings.required("hardware.gpu", document_.file()).path);
    plan.tensor_parallel = settings.integer("hardware.tensor_parallel");
    plan.executors = executors(settings);
    executions_.plan(settings, name, document_.file(), plan);
    plan.host_overhead = settings.time("hardware.host_overhead");
    plan.knowledge = plan_knowledge(settings, workload_);
    plan.retrieval = retrievals_.plan(settings, workload_.documents, plan.knowledge);
    if (plan.retrieval.measured) {
      warnings_.add(name,
                    "searches are timed here, so times differ from run to run; "
                    "retriever.latency states one instead");
    }
    plan.routers = {settings.integer("routers.count"), settings.time("routers.delay"),
                    settings.time("routers.poll"), settings.boolean("routers.watch")};
    plan.fast_forward = settings.boolean("execution.fast_forward");
    plan.sample_every = settings.time("results.sample_every");
    plan.tiers = tiers_of(settings, needs_of(plan.eviction));
    plan.disaggregation = disaggregation_of(settings, plan.executors, plan.tensor_parallel);
    plan.waiting = wait_of(settings.text("tiers.wait"));
    plan.overlap = settings.boolean("tiers.overlap");
    plan.executors_per_node = std::max<std::int64_t>(
        settings.integer("hardware.gpus_per_node") / plan.tensor_parallel, 1);
    plan.blocks = blocks(settings, plan);
    // Says, too, whether the profile knows this degree of tensor parallelism.
    plan.recompute =
        recompute_of(cost_model{plan.gpu, plan.model, plan.tensor_parallel, plan.host_overhead});

    check_names(settings, plan);
    check_reuse(settings, plan, workload_.info, reusing);
    eviction_needs needs = needs_of(plan.eviction);
    check_told(settings, workload_.info, plan.eviction, needs);
    check_sessions(settings, workload_.info, "policies.routing", plan.routing,
                   needs_of_routing(plan.routing).sessions);
    if (plan.disaggregation.prefill_executors > 0) {
      const policy_choice& decode = plan.disaggregation.routing;
      check_sessions(settings, workload_.info, "disaggregation.policies.routing", decode,
                     needs_of_routing(decode).sessions);
    }
    const workload_survey& counts = survey(plan, needs.future);
    plan_.workload.requests = counts.requests;
    plan.sample = executions_.sample(settings, document_.file(), plan, counts.sessions);
    check_execution(settings, plan, workload_.info, reusing);
    plan.ahead = needs.future ? counts.ahead : nullptr;
    // Another order of documents gives other blocks.
    plan.unique_keys =
        static_cast<std::int64_t>(reusing.orders ? counts.named_blocks : counts.keys);
    plan.slots = slots(plan, needs);
    check_documents(settings, plan, counts, reusing);
    warn_of_refusals(plan, counts);
    if (!counts.counted) {
      warnings_.add(
          plan.name,
          fmt::format(
              "more than {} different blocks: what an endless cache would hit is not counted",
              print_count(survey_keys_max)));
    }
    describe(settings, plan);
    plan_.contenders.push_back(std::move(plan));
  }

  /// Reuse that somebody asked for needs names of what prompts hold; the default only warns.
  void check_names(const scenario_settings& settings, const contender_plan& plan) {
    const trace_info& info = workload_.info;
    if (plan.reuse.name == "none" || info.has_chains || info.has_content) {
      return;
    }
    if (!settings.at("policies.reuse").where.empty()) {
      throw input_error{
          settings.where("policies.reuse"),
          fmt::format("\"{}\" needs block ids or content, and this trace has neither; "
                      "expected \"none\"",
                      plan.reuse.name)};
    }
    warnings_.add(plan.name, "the trace has neither block ids nor content, so nothing is reused");
  }

  static std::int64_t executors(const scenario_settings& settings) {
    std::int64_t count = settings.integer("hardware.count");
    std::int64_t ranks = settings.integer("hardware.tensor_parallel");
    if (count % ranks != 0) {
      throw input_error{settings.where("hardware.count"),
                        fmt::format("{} GPUs cannot be split into groups of "
                                    "hardware.tensor_parallel = {}",
                                    count, ranks)};
    }
    return count / ranks;
  }

  std::int64_t blocks(const scenario_settings& settings, const contender_plan& plan) {
    std::int64_t block = plan.keys.block_tokens;
    if (!settings.has("tiers.gpu.blocks")) {
      return kv_blocks(plan.gpu, plan.model, plan.tensor_parallel,
                       settings.number("tiers.gpu.share"), block);
    }
    std::int64_t asked = settings.integer("tiers.gpu.blocks");
    plan.model.check_tensor_parallel(plan.tensor_parallel);
    std::int64_t most = 0;
    try {
      most = max_kv_blocks(plan.gpu, plan.model, plan.tensor_parallel, block);
    } catch (const input_error&) {
      throw input_error{settings.where("kv.block_tokens"),
                        fmt::format("{} does not hold one block of {} tokens beside {}",
                                    plan.gpu.name, print_count(block), plan.model.name)};
    }
    if (asked > most) {
      std::string text =
          fmt::format("{} blocks of {} tokens do not fit: {} holds at most {} beside {}",
                      print_count(asked), block, plan.gpu.name, print_count(most), plan.model.name);
      if (!plan_.workload.serial) {
        throw input_error{settings.where("tiers.gpu.blocks"), text};
      }
      warnings_.add(
          plan.name,
          fmt::format("tiers.gpu.blocks: {}; this serial run is for its counts only", text));
    }
    return asked;
  }

  static std::uint32_t slots(const contender_plan& plan, const eviction_needs& needs) {
    // An unbounded cache grows by itself.
    constexpr std::int64_t first_slots = std::int64_t{1} << 20;
    std::int64_t most = std::min(needs.unbounded ? first_slots : plan.blocks, plan.unique_keys);
    if (most >= no_slot.get()) {
      throw input_error{
          "workload", fmt::format("{} different blocks are more than 2^32 - 2", print_count(most))};
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(most, 1));
  }

  void warn_of_refusals(const contender_plan& plan, const workload_survey& counts) {
    if (counts.longest_blocks > plan.blocks) {
      warnings_.add(
          plan.name,
          fmt::format("the longest request takes {} blocks and the pool has {}: requests that "
                      "cannot fit are refused",
                      print_count(counts.longest_blocks), print_count(plan.blocks)));
    }
    if (std::string text = warn_of_positions(plan, counts.longest_blocks); !text.empty()) {
      warnings_.add(plan.name, text);
    }
  }

  /// Two limits may both be set; the one that did not count is named.
  void warn_of_cut_generator() {
    bool generated = base_.text("workload.format") == "generator";
    auto asked = static_cast<std::uint64_t>(base_.integer("workload.generator.sessions"));
    const workload_survey& counts = surveys_.begin()->second;
    bool cut = generated && counts.sessions < asked && base_.integer("workload.limit") == 0;
    if (cut) {
      plan_.warnings.push_back(
          fmt::format("workload.generator.requests = {} ended the workload after {} of {} sessions",
                      base_.text("workload.generator.requests"), counts.sessions, asked));
    }
  }

  void describe_run() {
    run_description& run = plan_.description;
    run.name = base_.has("name") ? base_.text("name") : stem();
    run.scenario = document_.text();
    run.seed = static_cast<std::uint64_t>(base_.integer("seed"));
    run.version = program_version;
    run.commit = program_commit;
    run.trace_sha256 = workload_.sha256;
    for (const setting_rule& rule : scenario_schema()) {
      bool of_updates = rule.key.starts_with("knowledge.") && workload_.updates.history == nullptr;
      bool idle = of_updates || !is_read_by_format(rule.key, base_.text("workload.format"));
      if (!rule.per_contender && !idle && base_.has(rule.key)) {
        run.parameters.emplace_back(rule.key, base_.text(rule.key));
      }
    }
    for (const loaded_plugin* plugin : plugins_) {
      run.parameters.emplace_back(
          fmt::format("plugins.{}.sha256", fmt::join(plugin->policies, ",")), plugin->sha256);
    }
  }

  std::string stem() const {
    std::string name = document_.file().substr(document_.file().rfind('/') + 1);
    return name.substr(0, name.rfind('.'));
  }

  void describe(const scenario_settings& settings, const contender_plan& plan) {
    contender_description& about = plan_.description.contenders.emplace_back();
    about.name = plan.name;
    for (const setting_rule& rule : scenario_schema()) {
      if (!rule.per_contender || is_idle_tier(rule.key, plan) || is_idle_link(rule.key, plan) ||
          is_idle_search(rule.key, plan.retrieval) || is_idle_execution(rule.key, plan) ||
          (rule.key.starts_with("knowledge.") && !plan.knowledge.plays())) {
        continue;
      }
      if (rule.key == "kv.block_tokens") {
        about.parameters.emplace_back(rule.key, fmt::format("{}", plan.keys.block_tokens.get()));
      } else if (rule.key == "retriever.timing") {
        about.parameters.emplace_back(rule.key, plan.retrieval.measured ? "measured" : "stated");
      } else if (rule.key == "tiers.gpu.blocks") {
        about.parameters.emplace_back(rule.key, fmt::format("{}", plan.blocks));
      } else if (rule.type != setting_type::policy && settings.has(rule.key)) {
        about.parameters.emplace_back(rule.key, settings.text(rule.key));
      }
    }
    describe_policy(plan.reuse, "policies.reuse", about.parameters);
    describe_policy(plan.eviction, "policies.eviction", about.parameters);
    if (plan.admission.name != "always") {
      describe_policy(plan.admission, "policies.admission", about.parameters);
    }
    for (const tier_plan& tier : plan.tiers) {
      std::string key = "tiers." + tier.name + ".policies.";
      describe_policy(tier.eviction, key + "eviction", about.parameters);
      if (tier.admission.name != "always") {
        describe_policy(tier.admission, key + "admission", about.parameters);
      }
    }
    describe_policy(plan.batching, "policies.batching", about.parameters);
    describe_policy(plan.routing, "policies.routing", about.parameters);
    if (plan.disaggregation.prefill_executors > 0) {
      describe_policy(plan.disaggregation.routing, "disaggregation.policies.routing",
                      about.parameters);
    }
  }

  void describe_bounds() {
    plan_.bounds = {{text_column("bound",
                                 "what is bounded: an endless cache, one request after "
                                 "the other in trace order"),
                     integer_column("block_tokens", "tokens", "tokens of a KV block"),
                     integer_column("full_blocks_only", "", "1: short last blocks are not shared"),
                     integer_column("requests", "requests", "requests of the workload"),
                     integer_column("unique_blocks", "blocks", "different blocks"),
                     integer_column("blocks", "blocks", "blocks of all prompts"),
                     integer_column("hit_blocks", "blocks", "leading blocks found"),
                     integer_column("input_tokens", "tokens", "tokens of all prompts"),
                     integer_column("hit_tokens", "tokens",
                                    "tokens of the leading blocks found, a prompt's last token "
                                    "never")}};
    for (const auto& [name, counts] : surveys_) {
      if (!counts.counted || std::get<2>(name) != 0) {
        continue;  // leading runs mean little where chunks are reused wherever they stand
      }
      std::size_t number = std::get<3>(name);
      auto first = std::ranges::find_if(plan_.contenders, [number](const contender_plan& plan) {
        return plan.retrieval.number == number;
      });
      plan_.bounds.columns[0].texts().push_back(
          number == 0 ? "endless cache"
                      : fmt::format("endless cache, documents as found for {}", first->name));
      std::size_t at = 1;
      for (std::uint64_t value :
           {static_cast<std::uint64_t>(std::get<0>(name)), std::uint64_t{std::get<1>(name)},
            counts.requests, counts.keys, counts.blocks, counts.hit_blocks,
            static_cast<std::uint64_t>(counts.input_tokens),
            static_cast<std::uint64_t>(counts.hit_tokens)}) {
        plan_.bounds.columns[at++].integers().push_back(static_cast<std::int64_t>(value));
      }
    }
  }

  const run_request& request_;
  scenario_document document_;
  scenario_settings base_;
  scanned_workload workload_;
  run_plan plan_;
  grouped_warnings warnings_;
  retrieval_planner retrievals_;
  execution_planner executions_;
  std::map<cut_name, workload_survey> surveys_;
  std::vector<const loaded_plugin*> plugins_;
};

}  // namespace

run_plan load_run(const run_request& request) {
  return run_loader{request}.load();
}

}  // namespace refrain
