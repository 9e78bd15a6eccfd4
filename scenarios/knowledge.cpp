#include "scenarios/knowledge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/retrieval.hpp"
#include "traces/quantity.hpp"
#include "traces/sha256.hpp"

namespace refrain {

namespace {

bool is_written(const scenario_settings& settings, std::string_view key) {
  return settings.has(key) && !settings.at(key).where.empty();
}

void refuse_idle_keys(const scenario_settings& settings) {
  for (const setting_rule& rule : scenario_schema()) {
    if (rule.key.starts_with("knowledge.") && is_written(settings, rule.key)) {
      throw input_error{settings.where(rule.key),
                        "means nothing without knowledge.speed, which has the updates played"};
    }
  }
}

}  // namespace

bool plays_updates(const scenario_settings& settings) {
  return settings.has("knowledge.speed");
}

update_stream load_updates(const scenario_settings& settings, const std::string& file) {
  if (!plays_updates(settings)) {
    refuse_idle_keys(settings);
    return {};
  }
  if (const std::string& format = settings.text("corpus.format"); format != revisions_format) {
    check_corpus_format(settings);
    throw input_error{settings.where("knowledge.speed"),
                      fmt::format("needs corpus.format \"{}\"; a corpus of format \"{}\" has no "
                                  "updates",
                                  revisions_format, settings.text("corpus.format"))};
  }
  if (settings.boolean("workload.serial")) {
    throw input_error{settings.where("workload.serial"),
                      "cannot be with knowledge.speed: when a question would be asked, and so what "
                      "it would find, would depend on the contender"};
  }
  update_stream updates;
  updates.history = std::make_shared<revision_history>(
      read_revisions(settings.required("corpus.path", file).path));
  std::size_t count = updates.history->events.size();
  updates.first = static_cast<std::size_t>(settings.integer("knowledge.skip"));
  if (updates.first > count) {
    throw input_error{settings.where("knowledge.skip"),
                      fmt::format("{} of {} revisions; expected at most as many as there are",
                                  print_count(updates.first), print_count(count))};
  }
  auto limit = static_cast<std::size_t>(settings.integer("knowledge.limit"));
  updates.end = limit == 0 ? count : std::min(count, updates.first + limit);
  updates.speed = settings.number("knowledge.speed");
  return updates;
}

knowledge_plan plan_knowledge(const scenario_settings& settings, const scanned_workload& workload) {
  if (workload.updates.history == nullptr) {
    refuse_idle_keys(settings);
    return {};
  }
  if (settings.has("retriever.embeddings")) {
    throw input_error{settings.where("retriever.embeddings"),
                      "cannot be with knowledge.speed: a file of embeddings does not know the "
                      "texts to come"};
  }
  knowledge_plan plan{.updates = workload.updates, .questions = workload.documents};
  plan.rule =
      settings.text("knowledge.invalidation") == "prefix" ? survival::prefix : survival::chunk;
  plan.protocol = settings.text("knowledge.protocol") == "strict" ? knowledge_protocol::strict
                                                                  : knowledge_protocol::loose;
  plan.delay = settings.time("knowledge.delay");
  return plan;
}

std::unique_ptr<source> with_documents(std::unique_ptr<source> rows, const contender_plan& plan) {
  if (plan.retrieval.search == nullptr) {
    return rows;
  }
  if (!plan.knowledge.plays()) {
    return with_documents(std::move(rows), plan.retrieval.search);
  }
  return with_documents(
      std::move(rows),
      std::make_unique<living_corpus>(plan.knowledge.updates, plan.knowledge.questions,
                                      plan.retrieval.search->settings(), plan.knowledge.rule));
}

std::string sha256_of_updates(const update_stream& updates) {
  std::string digests;
  for (std::size_t i = 0; i < updates.end; ++i) {
    const revision& event = updates.history->events[i];
    digests += fmt::format("{} {} {}", event.seconds, static_cast<int>(event.op),
                           sha256_of_text(updates.history->documents[event.document])) +
               sha256_of_text(event.text);
  }
  return sha256_of_text(digests);
}

}  // namespace refrain
