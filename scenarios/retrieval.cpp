#include "scenarios/retrieval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "gpu/model_files/tokenizer.hpp"
#include "traces/corpus/questions.hpp"
#include "traces/sha256.hpp"

namespace refrain {

namespace {

constexpr std::string_view lookup_keys[] = {"retriever.latency", "retriever.timing"};

bool says_how_to_search(std::string_view key) {
  return key.starts_with("retriever.") && key != "retriever.latency";
}

template <class Names>
std::size_t place_of(const std::string& word, const Names& names) {
  auto found = std::ranges::find(names, word);
  REFRAIN_ASSERT(found != std::end(names));  // the schema has checked it
  return static_cast<std::size_t>(found - std::begin(names));
}

std::size_t count_of(const scenario_settings& settings, std::string_view key) {
  return static_cast<std::size_t>(settings.integer(key));
}

search_settings search_of(const scenario_settings& settings) {
  search_settings search;
  search.chunks.rule =
      static_cast<chunk_rule>(place_of(settings.text("retriever.chunking"), chunk_rule_names));
  search.chunks.span_tokens = token_count{settings.integer("retriever.span_tokens")};
  search.index.kind =
      static_cast<index_kind>(place_of(settings.text("retriever.index"), index_kind_names));
  search.index.lsh = {count_of(settings, "retriever.lsh_tables"),
                      count_of(settings, "retriever.lsh_bits"),
                      count_of(settings, "retriever.lsh_probes")};
  search.index.hnsw = {count_of(settings, "retriever.hnsw_links"),
                       count_of(settings, "retriever.hnsw_build_effort"),
                       count_of(settings, "retriever.hnsw_search_effort")};
  search.index.seed = static_cast<std::uint64_t>(settings.integer("seed"));
  search.width = count_of(settings, "retriever.width");
  search.embeddings =
      settings.has("retriever.embeddings") ? settings.at("retriever.embeddings").path : "";
  search.top = count_of(settings, "retriever.top");
  search.least = static_cast<float>(settings.number("retriever.least_similarity"));
  return search;
}

/// Equal where two contenders search alike.
std::string name_of_search(const scenario_settings& settings) {
  std::string name;
  for (const setting_rule& rule : scenario_schema()) {
    bool of_lookup = std::ranges::find(lookup_keys, rule.key) != std::end(lookup_keys);
    if (rule.key.starts_with("retriever.") && !of_lookup && settings.has(rule.key)) {
      name += fmt::format("{}={}\n", rule.key, settings.text(rule.key));
    }
  }
  return name;
}

void refuse_search(const scenario_settings& settings) {
  for (const setting_rule& rule : scenario_schema()) {
    if (says_how_to_search(rule.key) && settings.has(rule.key) &&
        !settings.at(rule.key).where.empty()) {
      throw input_error{settings.where(rule.key),
                        "means nothing without a corpus (workload.format \"questions\")"};
    }
  }
}

bool is_measured(const scenario_settings& settings) {
  const std::string& timing = settings.text("retriever.timing");
  bool stated = !settings.at("retriever.latency").where.empty();
  return timing == "measured" || (timing == "auto" && !stated);
}

}  // namespace

std::shared_ptr<token_book> load_words(const scenario_settings& settings) {
  if (!settings.has("workload.tokenizer")) {
    return nullptr;
  }
  const std::string& path = settings.at("workload.tokenizer").path;
  std::shared_ptr<const tokenizer> words;
  try {
    words = std::make_shared<const tokenizer>(load_tokenizer(path));
  } catch (const input_error& error) {
    throw input_error{settings.where("workload.tokenizer"), error.what()};
  }
  auto encode = [words](std::string_view text) { return words->encode(text, {.ends = false}); };
  return std::make_shared<token_book>(encode, static_cast<std::int64_t>(words->words().size()));
}

corpus read_scenario_corpus(const scenario_settings& settings, const std::string& file) {
  check_corpus_format(settings);
  return read_corpus(settings.text("corpus.format"), settings.required("corpus.path", file).path);
}

void check_corpus_format(const scenario_settings& settings) {
  const std::string& format = settings.text("corpus.format");
  std::vector<std::string_view> names;
  for (const auto& [name, _] : corpus_formats()) {
    names.push_back(name);
  }
  if (!corpus_formats().contains(format)) {
    throw input_error{settings.where("corpus.format"),
                      unknown_name("corpus format", format, names)};
  }
}

std::shared_ptr<const corpus> load_corpus(const scenario_settings& settings,
                                          const std::string& file, const update_stream& updates) {
  auto what = std::make_shared<corpus>(updates.history != nullptr
                                           ? corpus_after(*updates.history, updates.first)
                                           : read_scenario_corpus(settings, file));
  what->words = load_words(settings);
  auto made = static_cast<std::size_t>(settings.integer("workload.questions.made"));
  if (made > 0) {
    what->questions.clear();
    make_questions(*what, made, static_cast<std::uint64_t>(settings.integer("seed")));
  }
  bool none = std::ranges::all_of(what->questions, [](const auto& q) { return q.text.empty(); });
  if (none) {
    throw input_error{settings.where("corpus.path"),
                      "has no questions; workload.questions.made makes some of its texts"};
  }
  return what;
}

source_opener open_questions(const scenario_settings& settings,
                             std::shared_ptr<const corpus> what) {
  question_settings ask{
      .requests = static_cast<std::uint64_t>(settings.integer("workload.questions.requests")),
      .per_second = settings.number("workload.questions.per_second"),
      .zipf = settings.number("workload.questions.zipf"),
      .system_tokens = token_count{settings.integer("workload.questions.system_tokens")},
      .output_tokens = token_count{settings.integer("workload.questions.output_tokens")}};
  auto seed = static_cast<std::uint64_t>(settings.integer("seed"));
  return [what, ask, seed] { return make_question_source(what, ask, seed); };
}

std::string sha256_of_corpus(const corpus& what) {
  std::string digests;
  for (const corpus_document& each : what.documents) {
    digests += sha256_of_text(each.id) + sha256_of_text(each.text);
  }
  for (const corpus_question& each : what.questions) {
    digests += sha256_of_text(each.id) + sha256_of_text(each.text);
  }
  return sha256_of_text(digests);
}

retrieval_plan retrieval_planner::plan(const scenario_settings& settings,
                                       const std::shared_ptr<const corpus>& what,
                                       const knowledge_plan& knowledge) {
  retrieval_plan plan{.latency = settings.time("retriever.latency")};
  if (what == nullptr) {
    refuse_search(settings);
    return plan;
  }
  plan.measured = is_measured(settings);
  auto [known, is_new] =
      searches_.try_emplace(name_of_search(settings) +
                            (knowledge.plays() ? settings.text("knowledge.invalidation") : ""));
  if (is_new) {
    known->second = {std::make_shared<corpus_search>(what, search_of(settings)), searches_.size()};
  }
  plan.search = known->second.search;
  plan.number = known->second.number;
  return plan;
}

bool is_idle_search(std::string_view key, const retrieval_plan& plan) {
  if (!says_how_to_search(key)) {
    return false;
  }
  if (plan.search == nullptr) {
    return true;
  }
  const search_settings& search = plan.search->settings();
  return (key.starts_with("retriever.lsh_") && search.index.kind != index_kind::lsh) ||
         (key.starts_with("retriever.hnsw_") && search.index.kind != index_kind::hnsw) ||
         (key == "retriever.width" && !search.embeddings.empty());
}

}  // namespace refrain
