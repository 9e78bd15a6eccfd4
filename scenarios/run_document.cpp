#include "scenarios/run_document.hpp"

#include <fmt/format.h>

#include <iostream>

#include "scenarios/commands.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

/// {"eviction": {"name": "lru", "order": "back"}, ...} from resolved settings.
json policies_of(const contender_description& contender) {
  constexpr std::string_view prefix = "policies.";
  json policies = json::object();
  for (const auto& [key, text] : contender.parameters) {
    if (!key.starts_with(prefix)) {
      continue;
    }
    std::string kind = key.substr(prefix.size());
    std::size_t dot = kind.find('.');
    if (dot == std::string::npos) {
      policies[kind]["name"] = text;
    } else {
      policies[kind.substr(0, dot)][kind.substr(dot + 1)] = json_of_text(text);
    }
  }
  return policies;
}

bool is_computed(const contender_description& contender) {
  return setting_of(contender, "execution.engine") == "cpu";
}

json metric_document(const metric& m) {
  json about{{"value", m.exact ? json(*m.exact) : json_number(m.value)}, {"unit", m.unit}};
  if (m.distribution) {
    about["mean"] = json_number(m.distribution->mean);
    about["p50"] = json_number(m.distribution->p50);
    about["p90"] = json_number(m.distribution->p90);
    about["p99"] = json_number(m.distribution->p99);
    about["count"] = m.distribution->count;
  }
  return about;
}

json measured_document(const std::vector<measured_row>& rows) {
  json document = json::object();
  for (const measured_row& row : rows) {
    document[row.metric] = {
        {"simulated_mean", json_number(row.simulated_mean)},
        {"measured_mean", json_number(row.measured_mean)},
        {"relative_error", json_number(row.relative_error)},
        {"mean_absolute_relative_error", json_number(row.mean_absolute_relative_error)},
        {"count", row.count}};
  }
  return document;
}

/// Times have names of their own, so that what differs from run to run can be told from the rest.
json sample_document(const sample_summary& sample) {
  json about{{"model", sample.model},           {"precision", sample.precision},
             {"requests", sample.requests},     {"sessions", sample.sessions},
             {"left_out", sample.left_out},     {"input_tokens", sample.input_tokens},
             {"hit_tokens", sample.hit_tokens}, {"output_tokens", sample.output_tokens}};
  auto add = [&about](const std::string& name, const distribution& of) {
    about[name + "_mean"] = json_number(of.mean);
    about[name + "_p50"] = json_number(of.p50);
    about[name + "_p90"] = json_number(of.p90);
    about[name + "_p99"] = json_number(of.p99);
  };
  add("measured_prefill_s", sample.prefill_s);
  add("measured_tpot_s", sample.tpot_s);
  return about;
}

json contender_document(const run_report& report, const contender_summary& summary) {
  json about{{"name", summary.name}};
  for (const contender_description& each : report.run.contenders) {
    if (each.name == summary.name) {
      about["policies"] = policies_of(each);
      if (is_computed(each)) {
        about["execution"] = {{"engine", "cpu"},
                              {"model", setting_of(each, "execution.model")},
                              {"precision", setting_of(each, "execution.precision")}};
      }
    }
  }
  about["metrics"] = json::object();
  for (const metric& m : summary.metrics) {
    about["metrics"][m.name] = metric_document(m);
  }
  if (!summary.measured.empty()) {
    about["measured"] = measured_document(summary.measured);
  }
  if (summary.sample) {
    about["sample"] = sample_document(*summary.sample);
  }
  return about;
}

/// One object per row of a table, fields named as its columns.
json rows_document(const table& rows) {
  json document = json::array();
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    json row = json::object();
    for (const column& each : rows.columns) {
      if (const auto* reals = std::get_if<std::vector<double>>(&each.values)) {
        row[each.name] = json_number((*reals)[i]);
      } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&each.values)) {
        row[each.name] = (*whole)[i];
      } else {
        row[each.name] = each.texts()[i];
      }
    }
    document.push_back(std::move(row));
  }
  return document;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Which contenders' tokens were computed, and how.
void print_execution(const run_description& run) {
  for (const contender_description& each : run.contenders) {
    if (is_computed(each)) {
      std::cout << fmt::format(
          "{}: every token computed with {} in {} on a CPU; its times were "
          "measured.\n",
          each.name, setting_of(each, "execution.model"), setting_of(each, "execution.precision"));
    }
  }
}

void print_bounds(const table& bounds) {
  for (std::size_t i = 0; i < bounds.rows(); ++i) {
    auto at = [&](std::string_view name) { return bounds.at(name).integers()[i]; };
    if (at("blocks") == 0) {
      std::cout << "The trace names no content, so nothing of it can be shared.\n";
      continue;
    }
    std::string whose =
        bounds.at("bound").texts()[i].substr(std::string_view{"endless cache"}.size());
    std::cout << fmt::format(
        "Endless cache{}, one request after the other in trace order: {} of {} blocks of {} tokens "
        "({:.1f}%), {:.1f}% of the tokens.\n",
        whose, print_count(at("hit_blocks")), print_count(at("blocks")), at("block_tokens"),
        share(at("hit_blocks"), at("blocks")), share(at("hit_tokens"), at("input_tokens")));
  }
}

}  // namespace

run_report read_report(const results_reader& results) {
  run_report report;
  report.run = results.run();
  report.contenders = summarise_run(results);
  report.comparison = results.complete() ? results.comparison() : compare(report.contenders);
  report.bounds = results.bounds();
  report.warnings = summary_warnings(results);
  report.complete = results.complete();
  report.result = results.path().string();
  return report;
}

json report_document(const run_report& report) {
  json document{{"scenario", report.run.name}, {"seed", report.run.seed}};
  document["contenders"] = json::array();
  for (const contender_summary& each : report.contenders) {
    document["contenders"].push_back(contender_document(report, each));
  }
  document["comparison"] = rows_document(report.comparison);
  document["bounds"] = rows_document(report.bounds);
  document["warnings"] = report.warnings;
  document["complete"] = report.complete;
  document["result"] = report.result;
  document["version"] = report.run.version;
  document["commit"] = report.run.commit;
  document["trace_sha256"] = report.run.trace_sha256;
  return document;
}

void print_report(const run_report& report) {
  std::string text;
  print_summary(text, report.contenders, {});
  std::cout << report.run.name << ", seed " << report.run.seed << "\n\n" << text;
  print_execution(report.run);
  print_bounds(report.bounds);
  std::cout << (report.complete ? "Results: " : "Results so far: ") << report.result << std::endl;
  for (const std::string& warning : report.warnings) {
    std::cerr << "warning: " << one_line(warning) << "\n";
  }
}

}  // namespace refrain
