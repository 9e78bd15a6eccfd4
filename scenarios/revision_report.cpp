#include "scenarios/revision_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <iostream>

#include "scenarios/knowledge.hpp"
#include "traces/corpus/revisions.hpp"
#include "traces/error.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

json spread_document(const revision_spread& spread) {
  return {{"p10", spread.p10}, {"p50", spread.p50}, {"p90", spread.p90}, {"max", spread.most}};
}

std::string day_of(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string count_of(const json& about, const char* name) {
  return print_count(about[name].get<std::int64_t>());
}

void print_counts(const char* name, const json& spread) {
  std::cout << fmt::format("{:<32}", name);
  for (const char* each : {"p10", "p50", "p90", "max"}) {
    std::cout << fmt::format("{:>12}",
                             print_count(static_cast<std::int64_t>(spread[each].get<double>())));
  }
  std::cout << "\n";
}

void print_shares(const char* name, const json& spread) {
  std::cout << fmt::format("{:<32}", name);
  for (const char* each : {"p10", "p50", "p90", "max"}) {
    std::cout << fmt::format("{:>11.1f}%", 100 * spread[each].get<double>());
  }
  std::cout << "\n";
}

}  // namespace

json revision_document(const std::string& from, token_count span) {
  std::string prefix = std::string{revisions_format} + ":";
  if (!from.starts_with(prefix) || from.size() == prefix.size()) {
    throw input_error{from, fmt::format("has no history; expected {}PATH", prefix)};
  }
  revision_history history = read_revisions(from.substr(prefix.size()));
  revision_figures figures = describe_revisions(history);
  json document{{"revisions", history.source},
                {"events", history.events.size()},
                {"added", figures.added},
                {"modified", figures.modified},
                {"removed", figures.removed},
                {"commits", figures.commits},
                {"first_second", figures.first_second},
                {"last_second", figures.last_second},
                {"live_documents", figures.live_documents},
                {"peak_documents", figures.peak_documents},
                {"live_bytes", figures.live_bytes},
                {"version_bytes", figures.version_bytes},
                {"live_document_bytes", spread_document(figures.live_sizes)},
                {"edits_of_a_path", spread_document(figures.edits)},
                {"kept_prefix", spread_document(figures.kept_prefix)},
                {"kept_lines", spread_document(figures.kept_lines)},
                {"span_tokens", span.get()},
                {"chunks", json::array()}};
  for (std::size_t rule = 0; rule < std::size(chunk_rule_names); ++rule) {
    chunk_survival kept =
        survival_of_chunks(history, {static_cast<chunk_rule>(rule), token_count{span}});
    document["chunks"].push_back({{"chunking", chunk_rule_names[rule]},
                                  {"edited_bytes", kept.edited_bytes},
                                  {"surviving_bytes_prefix", kept.prefix_bytes},
                                  {"surviving_bytes_chunk", kept.chunk_bytes},
                                  {"surviving_share_prefix", spread_document(kept.prefix_share)},
                                  {"surviving_share_chunk", spread_document(kept.chunk_share)}});
  }
  return document;
}

void print_revisions(const json& about) {
  std::cout << fmt::format(
      "{}: {} revisions ({} added, {} modified, {} removed) in {} commits, {} to {}\n"
      "{} documents at the end, {} at most; {} bytes at the end, {} of all versions\n\n",
      about["revisions"].get<std::string>(), count_of(about, "events"), count_of(about, "added"),
      count_of(about, "modified"), count_of(about, "removed"), count_of(about, "commits"),
      day_of(about["first_second"].get<std::int64_t>()),
      day_of(about["last_second"].get<std::int64_t>()), count_of(about, "live_documents"),
      count_of(about, "peak_documents"), count_of(about, "live_bytes"),
      count_of(about, "version_bytes"));
  std::cout << fmt::format("{:<32}{:>12}{:>12}{:>12}{:>12}\n", "", "p10", "p50", "p90", "max");
  print_counts("bytes of a document at the end", about["live_document_bytes"]);
  print_counts("edits of a path that has any", about["edits_of_a_path"]);
  print_shares("an edit keeps as prefix", about["kept_prefix"]);
  print_shares("an edit keeps in lines", about["kept_lines"]);
  std::cout << fmt::format("\n{:<22}{:>14}{:>14}{:>8}{:>9}{:>14}{:>8}{:>9}\n",
                           fmt::format("chunks of {} tokens", count_of(about, "span_tokens")),
                           "edited bytes", "by prefix", "of all", "edit p50", "by chunk", "of all",
                           "edit p50");
  for (const json& rule : about["chunks"]) {
    double edited = std::max(rule["edited_bytes"].get<double>(), 1.0);
    std::cout << fmt::format("{:<22}{:>14}", rule["chunking"].get<std::string>(),
                             count_of(rule, "edited_bytes"));
    for (std::string way : {"prefix", "chunk"}) {
      const json& bytes = rule["surviving_bytes_" + way];
      double median = rule["surviving_share_" + way]["p50"].get<double>();
      std::cout << fmt::format("{:>14}{:>7.1f}%{:>8.1f}%", print_count(bytes.get<std::int64_t>()),
                               100 * bytes.get<double>() / edited, 100 * median);
    }
    std::cout << "\n";
  }
}

}  // namespace refrain
