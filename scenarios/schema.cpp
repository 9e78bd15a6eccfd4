// The table itself; the README of this folder shows it in use.
#include "scenarios/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>

#include "scenarios/workload_schema.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

using enum setting_type;

/// The keys of one memory below the GPU. It exists where its capacity is given.
void add_tier_rules(std::vector<setting_rule>& all, std::string_view tier) {
  static std::deque<std::string> names;  // rules refer to them
  auto key = [&](std::string_view leaf) -> std::string_view {
    return names.emplace_back(fmt::format("tiers.{}.{}", tier, leaf));
  };
  bool host = tier == "host";
  bool nvme = tier == "nvme";
  std::string_view load = host ? "50GB/s" : nvme ? "7GB/s" : "2GB/s";
  std::string_view store = host ? "50GB/s" : nvme ? "5GB/s" : "2GB/s";
  std::string_view latency = host ? "10us" : nvme ? "80us" : "500us";
  all.push_back({key("capacity"), bytes, "",
                 host || nvme ? "size, of each node; the tier exists where this is given"
                              : "size, for all; the tier exists where this is given",
                 true, 0, 9e18});
  all.push_back({key("bandwidth"), bandwidth, load,
                 host ? "towards the GPU, of each GPU" : "towards the GPU, shared", true, 1, 1e15});
  all.push_back(
      {key("write_bandwidth"), bandwidth, store, "into the tier, likewise", true, 1, 1e15});
  all.push_back(
      {key("latency"), duration, latency, "before the first byte of a transfer", true, 0, 3600});
  all.push_back({key("overhead"), duration, host ? "6us" : "0", "for each piece of a transfer",
                 true, 0, 3600});
  all.push_back({key("piece"), bytes, "2MiB", "bytes of a piece", true, 1, 9e18});
  all.push_back({key("concurrency"), integer, host ? "1" : "4",
                 "transfers at once in one direction", true, 1, 1e6});
  all.push_back({key("staging"), bytes, "1GiB",
                 "bytes of one GPU on their way into the tier; what exceeds them is dropped", true,
                 0, 9e18});
  all.push_back({key("write"),
                 choice,
                 "demote",
                 "written when a block is evicted above (demote), computed (through) or used again "
                 "(selective)",
                 true,
                 0,
                 0,
                 {"demote", "through", "selective"}});
  all.push_back(
      {key("load"),
       choice,
       "auto",
       "auto: loaded or computed, whichever is expected to be done first; split: the head is "
       "computed while the tail is loaded",
       true,
       0,
       0,
       {"auto", "always", "split"}});
  all.push_back({key("policies.eviction"), policy, "", "instead of policies.eviction", true});
  all.push_back({key("policies.admission"), policy, "always", "which blocks may enter it", true});
}

std::vector<setting_rule> make_rules() {
  std::vector<setting_rule> all = {
      {"name", text, "", "what the run is called; the file's stem where omitted"},
      {"seed", integer, "0", "all chance of the run derives from it"},
      {"plugins", paths, "", "shared libraries with policies in them"},
  };
  const std::vector<setting_rule> workload = workload_rules();
  all.insert(all.end(), workload.begin(), workload.end());
  const std::vector<setting_rule> rest = {
      {"model.name", resource, "",
       "a model of gpu/models, or a file; not where execution.engine computes", true},

      {"kv.block_tokens", integer, "0",
       "tokens of a KV block; 0 = the trace's own, else 16; must divide the trace's", true, 0,
       tokens_max},
      {"kv.full_blocks_only", boolean, "false", "a trace's short last block is not shared", true},

      {"hardware.gpu", resource, "", "a profile of gpu/profiles, or a file", true},
      {"hardware.count", integer, "1", "GPUs", true, 1, 4096},
      {"hardware.gpus_per_node", integer, "8", "GPUs that share a host memory", true, 1, 1e5},
      {"hardware.tensor_parallel", integer, "1", "GPUs that serve one request together", true, 1,
       1024},
      {"hardware.host_overhead", duration, "0", "host time of an iteration", true, 0, 3600},

      {"disaggregation.prefill_gpus", integer, "0",
       "GPUs that only prefill, the others only decode; 0 = all do both", true, 0, 4095},
      {"disaggregation.bandwidth", bandwidth, "50GB/s", "of each prefill executor to the others",
       true, 1, 1e15},
      {"disaggregation.latency", duration, "10us", "before the first byte of a hand-over", true, 0,
       3600},
      {"disaggregation.overhead", duration, "0", "for each piece of a hand-over", true, 0, 3600},
      {"disaggregation.piece", bytes, "2MiB", "bytes of a piece", true, 1, 9e18},
      {"disaggregation.concurrency", integer, "4", "hand-overs at once from one executor", true, 1,
       1e6},
      {"disaggregation.policies.routing", policy, "least_loaded",
       "which executor decodes a request", true},

      {"tiers.gpu.share", share, "90%", "of the memory, weights and activations included", true},
      {"tiers.gpu.blocks", integer, "", "KV blocks of an executor, instead of a share", true, 1,
       9e15},

      {"tiers.wait",
       choice,
       "auto",
       "what a request does while its load is under way: auto and wait stay outside of the batch, "
       "best_effort enters with what is there",
       true,
       0,
       0,
       {"auto", "wait", "best_effort"}},
      {"tiers.overlap", boolean, "false",
       "a load may end layer by layer beside the first iteration that uses it", true},

      {"policies.reuse", policy, "prefix", "which cached KV a request takes", true},
      {"policies.eviction", policy, "lru", "which cached block gives way", true},
      {"policies.admission", policy, "always", "which blocks may enter the GPU's cache", true},
      {"policies.batching", policy, "fcfs", "how batches are formed", true},
      {"policies.routing", policy, "round_robin", "which executor serves a request", true},

      {"routers.count", integer, "1", "routers; each serves its share of the sessions", true, 1,
       1024},
      {"routers.delay", duration, "0", "until routers know what changed in an executor's cache",
       true, 0, 1e6},
      {"routers.poll", duration, "0", "routers ask for changes this often; 0 = told at once", true,
       0, 1e6},
      {"routers.watch", boolean, "false",
       "report what reuse routers had whatever their policy (a tenth slower)", true},
      {"retriever.latency", duration, "0", "search time before a request reaches an executor", true,
       0, 3600},
      {"retriever.timing",
       choice,
       "auto",
       "search time: measured here, or stated (retriever.latency); auto: stated where that is "
       "given",
       true,
       0,
       0,
       {"auto", "measured", "stated"}},
      {"retriever.top", integer, "4", "chunks found for a question", true, 0, 1e5},
      {"retriever.least_similarity", real, "0", "only chunks with a cosine above this", true, -2,
       1},
      {"retriever.chunking",
       choice,
       "fixed",
       "how documents are cut",
       true,
       0,
       0,
       {"fixed", "heading", "content"}},
      {"retriever.span_tokens", integer, "384", "tokens of a chunk", true, 1, tokens_max},
      {"retriever.index",
       choice,
       "exact",
       "how chunks are found",
       true,
       0,
       0,
       {"exact", "lsh", "hnsw"}},
      {"retriever.width", integer, "1024", "numbers of a hashed embedding", true, 8, 65'536},
      {"retriever.embeddings", path, "", "a file of embeddings instead of hashed ones", true},
      {"retriever.lsh_tables", integer, "16", "hash tables", true, 1, 1024},
      {"retriever.lsh_bits", integer, "8", "bits of a hash", true, 1, 30},
      {"retriever.lsh_probes", integer, "8", "buckets looked into in each table", true, 1, 1e6},
      {"retriever.hnsw_links", integer, "16", "links of a node (M)", true, 2, 512},
      {"retriever.hnsw_build_effort", integer, "200", "ef_construction", true, 1, 1e5},
      {"retriever.hnsw_search_effort", integer, "64", "ef", true, 1, 1e5},
      {"execution.engine",
       choice,
       "cost_model",
       "how iterations get their times: from hardware.gpu by formula, or by computing them",
       true,
       0,
       0,
       {"cost_model", "cpu"}},
      {"execution.model", resource, "",
       "what is computed: builtin:tiny, or a GGUF file; then instead of model.name", true},
      {"execution.precision",
       choice,
       "fp32",
       "how: fp32 is the reference, the others are faster",
       true,
       0,
       0,
       {"fp32", "fp32_fast", "bf16", "int8"}},
      {"execution.replay", path, "",
       "results of an earlier run, whose iterations are played again instead of computed"},
      {"execution.sample.sessions", integer, "0",
       "so many sessions, spread over the workload, are computed for real beside the simulation",
       false, 0, 1e6},
      {"execution.sample.tokens_max", integer, "2048",
       "longest prompt and answer together; requests of the sample that are longer are left out",
       false, 1, tokens_max},
      {"execution.fast_forward", boolean, "true",
       "advance identical iterations together (same results)", true},
      {"results.seen",
       choice,
       "auto",
       "count what an endless cache of whole chunks would have found: auto = of traces that give "
       "prompts by content (the generator's recall less of what they are)",
       false,
       0,
       0,
       {"auto", "on", "off"}},
      {"results.sample_every", duration, "10s", "between two rows of an executor's time series",
       false, 1e-6, 1e8}};
  all.insert(all.end(), rest.begin(), rest.end());
  for (std::string_view tier : {"host", "nvme", "remote"}) {
    add_tier_rules(all, tier);
  }
  return all;
}

const std::vector<setting_rule>& rules() {
  static const std::vector<setting_rule> all = make_rules();
  return all;
}

/// Keys, and the tables they stand in.
std::vector<std::string_view> make_names() {
  std::vector<std::string_view> names;
  for (const setting_rule& rule : rules()) {
    for (std::size_t dot = rule.key.find('.'); dot != std::string_view::npos;
         dot = rule.key.find('.', dot + 1)) {
      std::string_view table = rule.key.substr(0, dot);
      if (std::ranges::find(names, table) == names.end()) {
        names.push_back(table);
      }
    }
    names.push_back(rule.key);
  }
  names.push_back("contender");
  return names;
}

const std::vector<std::string_view>& all_names() {
  static const std::vector<std::string_view> names = make_names();
  return names;
}

std::string_view table_of(std::string_view key) {
  std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

}  // namespace

std::string_view expected_of(setting_type type) {
  switch (type) {
    case text:
      return "a string";
    case path:
      return "a path in quotes";
    case paths:
      return "a list of paths such as [\"one.so\", \"two.so\"]";
    case resource:
      return "a name in quotes";
    case integer:
      return "an integer";
    case real:
      return "a number";
    case boolean:
      return "true or false";
    case duration:
      return "a time such as \"3s\"";
    case bytes:
      return "a size such as \"256GiB\"";
    case bandwidth:
      return "a bandwidth such as \"50GB/s\"";
    case share:
      return "a share such as \"90%\" or 0.9";
    case choice:
      return "a word in quotes";
    case quantiles:
      return "quantiles such as \"p0:1,p50:20,p100:900\" or [[0, 1], [50, 20], [100, 900]]";
    case time_quantiles:
      return "quantiles such as \"p0:1s,p50:20s,p100:1h\" or [[0, \"1s\"], [100, \"1h\"]]";
    case policy:
      return "a policy's name or { name = \"...\", parameter = value }";
  }
  return "";
}

std::span<const setting_rule> scenario_schema() {
  return rules();
}

const setting_rule* find_rule(std::string_view key) {
  auto found = std::ranges::find(rules(), key, &setting_rule::key);
  return found == rules().end() ? nullptr : &*found;
}

bool is_table_of_schema(std::string_view table) {
  return std::ranges::any_of(rules(), [&](const setting_rule& rule) {
    return rule.key.size() > table.size() && rule.key.starts_with(table) &&
           rule.key[table.size()] == '.';
  });
}

std::string unknown_key(std::string_view key) {
  if (key == "contender") {
    return "\"contender\" names no single contender; write contender.NAME.KEY=VALUE";
  }
  if (is_table_of_schema(key)) {
    auto inside = std::ranges::find_if(rules(), [key](const setting_rule& rule) {
      return rule.key.starts_with(key) && rule.key.substr(key.size()).starts_with('.');
    });
    return fmt::format("\"{}\" is a table; set its keys one by one, such as {}", key, inside->key);
  }
  std::string_view table = table_of(key);
  if (const setting_rule* rule = find_rule(table); rule != nullptr && rule->type == policy) {
    return fmt::format(
        "unknown key \"{}\"; a policy's parameters stand beside its name: {} = {{ name = \"...\", "
        "{} = ... }}",
        key, table, key.substr(table.size() + 1));
  }
  std::vector<std::string_view> names = all_names();
  if (!nearest_name(key, names).empty()) {
    return unknown_name("key", key, names);
  }
  while (!table.empty() && !is_table_of_schema(table)) {
    table = table_of(table);
  }
  std::erase_if(names, [&](std::string_view name) { return table_of(name) != table; });
  return unknown_name("key", key, names);
}

}  // namespace refrain
