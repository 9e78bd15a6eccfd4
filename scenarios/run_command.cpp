// `refrain run`: load and check, run the contenders, compare them, merge the results. Until the
// very end the result file's name holds nothing new: a run that fails leaves its parts, bad input
// leaves nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "actors/contender.hpp"
#include "analysis/durable_file.hpp"
#include "analysis/results_layout.hpp"
#include "analysis/results_writer.hpp"
#include "policies/watchdog.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/loader.hpp"
#include "scenarios/policy_words.hpp"
#include "scenarios/run_checks.hpp"
#include "scenarios/run_contenders.hpp"
#include "scenarios/run_document.hpp"
#include "scenarios/stop_on_signal.hpp"

namespace refrain {

namespace {

namespace fs = std::filesystem;

bool is_taken(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) || fs::exists(parts_folder(path), error);
}

/// STEM-SEED.h5 in the working directory, or the first of STEM-SEED-2.h5, ... that is free.
fs::path free_name(const std::string& scenario, std::uint64_t seed) {
  std::string stem = fmt::format("{}-{}", fs::path{scenario}.stem().string(), seed);
  fs::path path = stem + ".h5";
  for (int i = 2; is_taken(path); ++i) {
    path = fmt::format("{}-{}.h5", stem, i);
  }
  return path;
}

/// Refuses a name that cannot be written before anything is read.
void check_name(const std::string& path, const std::string& scenario, bool may_replace) {
  std::error_code error;
  std::string where = "-o " + path;
  if (path.empty()) {
    throw input_error{"-o", "expected a file name"};
  }
  if (fs::equivalent(path, scenario, error)) {
    throw input_error{where, "is the scenario itself"};
  }
  if (fs::exists(parts_folder(path) / "run.h5", error) && !may_replace) {
    throw input_error{
        where,
        fmt::format(
            "{} holds what another run has left or is writing; --force replaces what was left",
            parts_folder(path).string())};
  }
  if (fs::is_directory(path, error)) {
    throw input_error{where, "is a folder; expected a file"};
  }
  if (fs::exists(path, error) && !may_replace) {
    throw input_error{where, "exists already; --force replaces it"};
  }
  fs::path folder = fs::path{path}.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    throw input_error{where, fmt::format("there is no folder {}", folder.string())};
  }
}

run_report finish(const run_plan& plan, results_writer& writer,
                  std::span<const request_totals> gathered, const fs::path& path,
                  stop_on_signal& signals) {
  signals.leave_at_once();
  run_report report{.run = plan.description, .bounds = plan.bounds, .result = path.string()};
  auto look = [&](const results_reader& results) {
    report.contenders = summarise_run(results, gathered);
    report.comparison = compare(report.contenders);
    report.warnings = plan.warnings;
    for (std::string& warning : check_run(results, plan.contenders)) {
      report.warnings.push_back(std::move(warning));
    }
    return final_tables{report.comparison, report.bounds, report.warnings, {}};
  };
  writer.conclude(look, [&signals] { signals.hold(); });
  return report;
}

std::string what_is_left(const fs::path& path) {
  std::string parts = parts_folder(path).string();
  return fmt::format("refrain: {} holds what is done; refrain show {} reads it\n", parts, parts);
}

/// What happens when a plug-in's policy hangs: its thread cannot be ended, so the program is. What
/// was written stays, marked as a run that did not finish.
void leave_when_a_policy_hangs(const fs::path& path) {
  set_hang_handler([path](const std::string& message) {
    const char* over_progress = isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "";
    std::error_code ignored;
    bool has_parts = fs::exists(parts_folder(path) / "run.h5", ignored);
    std::cerr << over_progress << (has_parts ? what_is_left(path) : "") << "refrain: " << message
              << std::endl;
    _exit(static_cast<int>(exit_status::failed));
  });
}

run_report run(const run_plan& plan, const fs::path& path, std::size_t jobs) {
  stop_on_signal signals{what_is_left(path) + "refrain: interrupted\n",
                         temporary_name(path).string()};
  leave_when_a_policy_hangs(path);
  try {
    results_writer writer{path, plan.description};
    std::vector<request_totals> gathered = run_contenders(plan, writer, jobs);
    return finish(plan, writer, gathered, path, signals);
  } catch (const input_error&) {
    throw;
  } catch (...) {
    std::error_code ignored;
    if (fs::exists(parts_folder(path) / "run.h5", ignored)) {
      std::cerr << what_is_left(path);
    }
    throw;
  }
}

void add_options(arguments& given) {
  given.word("SCENARIO", "the scenario file");
  given.option("output,o", "FILE.h5", "the result file; else SCENARIO-SEED.h5 in this folder");
  given.flag("force", "replace an existing result file");
  given.option("set", "KEY=VALUE", "set a key of the scenario, or contender.NAME.KEY");
  given.option("only", "CONTENDER", "run this contender only; may be repeated");
  given.option("seed", "N", "instead of the scenario's seed");
  given.option("jobs", "N", "contenders at once; else one per core");
  declare_plugins(given);
  given.flag("json", "print one JSON document");
}

run_request request_of(const arguments& given) {
  run_request request{.scenario = given.required("SCENARIO"),
                      .sets = given.all("set"),
                      .only = given.all("only"),
                      .seed = std::nullopt,
                      .plugins = given.all("plugin")};
  if (given.has("seed")) {
    constexpr std::int64_t seed_max = 9'000'000'000'000'000;
    std::int64_t seed = given.number("seed", 0, 0);
    if (seed > seed_max) {
      throw input_error{"--seed", fmt::format("must be 0 to {}, found {}", seed_max, seed)};
    }
    request.seed = seed;
  }
  return request;
}

}  // namespace

void run_command(const std::vector<std::string>& words) {
  arguments given{"run",
                  "run SCENARIO [-o FILE.h5] [--force] [--set KEY=VALUE]... "
                  "[--only CONTENDER]... [--seed N] [--jobs N] [--plugin FILE]... [--json]",
                  "Runs every contender of a scenario on the same workload and compares them."};
  add_options(given);
  if (!given.parse(words)) {
    return;
  }
  run_request request = request_of(given);
  auto jobs = static_cast<std::size_t>(given.number("jobs", 1, 0));
  std::string output = given.one("output");
  if (given.has("output")) {
    check_name(output, request.scenario, given.has("force"));
  }
  run_plan plan = load_run(request);
  fs::path path =
      given.has("output") ? fs::path{output} : free_name(request.scenario, plan.description.seed);
  run_report report = run(plan, path, jobs);
  if (given.has("json")) {
    print_json(report_document(report));
  } else {
    print_report(report);
  }
}

}  // namespace refrain
