// The table itself; the README of this folder shows it in use.
#include "scenarios/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>

#include "traces/error.hpp"

namespace refrain {

namespace {

using enum setting_type;

constexpr double tokens_max = 1e6;
constexpr double count_max = 4e9;

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

      {"workload.format", text, "", "\"generator\" or a trace format"},
      {"workload.path", path, "", "the trace file; the generator needs none"},
      {"workload.speed", real, "1", "arrivals and think times this many times faster", false, 1e-9,
       1e9},
      {"workload.limit", integer, "0", "rows; 0 = all"},
      {"workload.spread", duration, "0", "rows of one timestamp are spread over this time"},
      {"workload.serial", boolean, "false", "the next request only after the last is done"},
      {"workload.output_tokens", integer, "0", "of every request; 0 = the trace's own", false, 0,
       1e7},
      {"workload.layout", text, "",
       "order of the parts of prompts, such as \"system, history, documents, question\"; the "
       "workload's own where omitted"},
      {"workload.bad_rows", choice, "stop", "what a wrong row does", false, 0, 0, {"stop", "drop"}},
      {"workload.block_tokens", integer, "0", "tokens per id in the file; 0 = the format's own",
       false, 0, tokens_max},

      {"workload.generator.sessions_per_second", real, "1", "rate of session starts (Poisson)",
       false, 1e-9, 1e9},
      {"workload.generator.arrivals",
       choice,
       "poisson",
       "the process of session starts",
       false,
       0,
       0,
       {"poisson", "gamma", "on_off", "diurnal", "replayed"}},
      {"workload.generator.arrivals_shape", real, "1",
       "gamma: of the gaps; below 1 they come in bursts", false, 1e-3, 1e3},
      {"workload.generator.off_sessions_per_second", real, "0", "on_off: the rate while off", false,
       0, 1e9},
      {"workload.generator.on_time", duration, "1min", "on_off: mean time on", false, 1e-6, 1e8},
      {"workload.generator.off_time", duration, "1min", "on_off: mean time off", false, 1e-6, 1e8},
      {"workload.generator.diurnal_amplitude", real, "0.5",
       "diurnal: of the rate, relative to its mean", false, 0, 1},
      {"workload.generator.diurnal_period", duration, "1d", "diurnal: of the rate", false, 1e-3,
       1e9},
      {"workload.generator.replay_path", path, "",
       "replayed: a trace whose session starts to take"},
      {"workload.generator.replay_format", text, "", "replayed: its format"},
      {"workload.generator.sessions", integer, "0", "how many; 0 = until `requests` is reached",
       false, 0, count_max},
      {"workload.generator.requests", integer, "1000", "how many at most; 0 = no limit", false, 0,
       count_max},
      {"workload.generator.turns_mean", real, "3", "turns of a session (geometric)", false, 1, 1e4},
      {"workload.generator.turns_quantiles", quantiles, "", "turns of a session, instead", false, 1,
       1e4},
      {"workload.generator.single_turn_share", real, "0",
       "share of sessions that have one turn, whatever the turns above", false, 0, 1},
      {"workload.generator.think_time", duration, "20s",
       "median time between an answer and the next question", false, 1e-9, 1e6},
      {"workload.generator.think_time_sigma", real, "1", "of its natural logarithm", false, 0, 5},
      {"workload.generator.think_time_law",
       choice,
       "log_normal",
       "its shape",
       false,
       0,
       0,
       {"log_normal", "exponential"}},
      {"workload.generator.think_time_quantiles", time_quantiles, "", "instead", false, 0, 1e8},
      {"workload.generator.rag_think_time", duration, "",
       "median in sessions that retrieve; as the others' where omitted", false, 1e-9, 1e6},
      {"workload.generator.rag_think_time_sigma", real, "1", "of its natural logarithm", false, 0,
       5},
      {"workload.generator.rag_think_time_law",
       choice,
       "log_normal",
       "its shape",
       false,
       0,
       0,
       {"log_normal", "exponential"}},
      {"workload.generator.rag_think_time_quantiles", time_quantiles, "", "instead", false, 0, 1e8},
      {"workload.generator.system_prompts", integer, "4", "shared system prompts; 0 = none", false,
       0, tokens_max},
      {"workload.generator.system_tokens", integer, "512", "tokens of each", false, 0, tokens_max},
      {"workload.generator.system_zipf", real, "1", "popularity of the i-th is i^-this", false, 0,
       10},
      {"workload.generator.system_share", real, "1", "share of sessions that begin with one", false,
       0, 1},
      {"workload.generator.rag_share", real, "0.5", "share of sessions that retrieve documents",
       false, 0, 1},
      {"workload.generator.documents", integer, "10000", "documents there are", false, 0, 1e8},
      {"workload.generator.document_tokens", integer, "384", "median tokens of a document", false,
       1, tokens_max},
      {"workload.generator.document_tokens_sigma", real, "0.4", "of its natural logarithm", false,
       0, 5},
      {"workload.generator.document_tokens_quantiles", quantiles, "", "instead", false, 0,
       tokens_max},
      {"workload.generator.document_zipf", real, "0.9", "popularity of the i-th is i^-this", false,
       0, 10},
      {"workload.generator.document_drift", real, "0",
       "documents an hour that fall from the first to the last place of the ranking", false, 0,
       1e9},
      {"workload.generator.document_repeat", real, "0",
       "probability that a turn's documents are among those its session used before", false, 0, 1},
      {"workload.generator.documents_per_turn", integer, "4", "distinct documents a turn retrieves",
       false, 0, 1e4},
      {"workload.generator.document_duplicates",
       choice,
       "next",
       "a document drawn twice in a turn gives way to the next less popular one, or is redrawn",
       false,
       0,
       0,
       {"next", "redraw"}},
      {"workload.generator.question_tokens", integer, "48", "median tokens of a question", false, 1,
       tokens_max},
      {"workload.generator.question_tokens_sigma", real, "0.8", "of its natural logarithm", false,
       0, 5},
      {"workload.generator.question_tokens_quantiles", quantiles, "", "instead", false, 0,
       tokens_max},
      {"workload.generator.single_question_tokens_quantiles", quantiles, "",
       "of sessions of single_turn_share", false, 0, tokens_max},
      {"workload.generator.followup_tokens_quantiles", quantiles, "", "of later turns' questions",
       false, 0, tokens_max},
      {"workload.generator.history_kept_quantiles", quantiles, "",
       "share of the previous prompt and answer that a later turn keeps; all where omitted", false,
       0, 1},
      {"workload.generator.answers_recur", boolean, "true",
       "later prompts contain the answers as they were produced"},
      {"workload.generator.output_tokens", integer, "192", "median tokens of an answer", false, 1,
       tokens_max},
      {"workload.generator.output_tokens_sigma", real, "0.8", "of its natural logarithm", false, 0,
       5},
      {"workload.generator.output_tokens_quantiles", quantiles, "", "instead", false, 0,
       tokens_max},
      {"workload.generator.prompt_tokens_max", integer, "16384", "longest prompt", false, 1, 1e7},
      {"workload.generator.tenants", integer, "1", "isolation domains that share nothing", false, 1,
       1e7},
      {"workload.generator.tenant_zipf", real, "1", "share of the i-th in the sessions is i^-this",
       false, 0, 10},
      {"workload.generator.tenant_system_prompts", boolean, "false",
       "each tenant has system prompts of its own"},

      {"workload.questions.requests", integer, "1000", "how many are asked", false, 1, count_max},
      {"workload.questions.per_second", real, "1", "rate of questions (Poisson)", false, 1e-6, 1e9},
      {"workload.questions.zipf", real, "0.9", "popularity of the i-th is i^-this", false, 0, 10},
      {"workload.questions.system_tokens", integer, "256", "tokens of the one system prompt", false,
       0, tokens_max},
      {"workload.questions.output_tokens", integer, "128", "of every answer", false, 1, tokens_max},
      {"workload.questions.made", integer, "0",
       "instead of the corpus' own: so many, each some words of a document", false, 0, tokens_max},

      {"corpus.path", path, "", "the corpus that is searched"},
      {"corpus.format", text, "corpus", "how it is stored; see refrain corpus --help"},

      {"knowledge.speed", real, "",
       "seconds of the revision stream for a second of the run; where it is given the corpus "
       "changes",
       false, 1e-9, 1e15},
      {"knowledge.skip", integer, "0", "revisions that are made before the run begins", false, 0,
       count_max},
      {"knowledge.limit", integer, "0", "revisions that are played at most; 0 = all", false, 0,
       count_max},
      {"knowledge.invalidation",
       choice,
       "chunk",
       "KV of an edited document that survives: its chunks before the first change (prefix), or "
       "all whose text stays (chunk)",
       true,
       0,
       0,
       {"prefix", "chunk"}},
      {"knowledge.delay", duration, "0", "from an update until executors and tiers hear of it",
       true, 0, 1e9},
      {"knowledge.protocol",
       choice,
       "strict",
       "KV is found by the version that was retrieved (strict), or by name, whatever version is "
       "there (loose)",
       true,
       0,
       0,
       {"strict", "loose"}},

      {"model.name", resource, "", "a model of gpu/models, or a file", true},

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
       false, 1e-6, 1e9}};
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
