// `refrain validate`: a scenario computed for real twice and by formula once, request for request.
// Two real runs never take the same time, so how far they are apart is the floor for what a formula
// can reach.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "analysis/results_writer.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/json.hpp"
#include "scenarios/loader.hpp"
#include "scenarios/run_contenders.hpp"
#include "scenarios/stop_on_signal.hpp"
#include "scenarios/validation.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

namespace fs = std::filesystem;

/// A folder that is gone when the command ends.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (fs::temp_directory_path() / "refrain-validate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw run_error{
          fmt::format("cannot make a folder in {}", fs::temp_directory_path().string())};
    }
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

results_reader run_with(run_request request, std::string_view engine, const fs::path& file) {
  request.sets.push_back(fmt::format("execution.engine=\"{}\"", engine));
  run_plan plan = load_run(request);
  {
    results_writer writer{file, plan.description};
    run_contenders(plan, writer, 1);
    writer.finish({});
  }
  return results_reader{file};
}

std::string percent(double ratio) {
  return std::isnan(ratio) ? "-" : fmt::format("{:+.1f}%", 100 * ratio);
}

std::string amount(double ratio) {
  return std::isnan(ratio) ? "-" : fmt::format("{:.1f}%", 100 * ratio);
}

std::string label_of(const validation_row& row) {
  std::string metric = row.metric == "ttft_s" ? "TTFT" : row.metric == "tpot_s" ? "TPOT" : "E2E";
  return metric + (row.statistic == "request" ? " by request" : " " + row.statistic);
}

void print_rows(const std::vector<validation_row>& rows) {
  std::cout << fmt::format("{:<16}{:<16}{:>12}{:>12}{:>10}{:>12}{:>10}  {}\n", "contender", "",
                           "real", "formula", "error", "real again", "bound", "");
  std::string contender;
  for (const validation_row& row : rows) {
    bool by_request = row.statistic == "request";
    auto time = [](double seconds) {
      return std::isnan(seconds) ? std::string{"-"} : print_duration(seconds);
    };
    std::cout << fmt::format("{:<16}{:<16}{:>12}{:>12}{:>10}{:>12}{:>10}  {}\n",
                             row.contender == contender ? "" : row.contender, label_of(row),
                             time(row.real), time(row.formula),
                             by_request ? amount(row.error) : percent(row.error),
                             by_request ? amount(row.noise) : percent(row.noise), amount(row.bound),
                             std::isnan(row.bound) ? ""
                             : row.is_within()     ? "within"
                                                   : "beyond");
    contender = row.contender;
  }
  std::cout
      << "Errors are relative to the first real run; the bound is 10% at p50 and 15% at p99, or "
         "twice what two real runs differ by.\n";
}

json document_of(const std::vector<validation_row>& rows) {
  json document = json::array();
  for (const validation_row& row : rows) {
    document.push_back({{"contender", row.contender},
                        {"metric", row.metric},
                        {"statistic", row.statistic},
                        {"real", json_number(row.real)},
                        {"formula", json_number(row.formula)},
                        {"error", json_number(row.error)},
                        {"noise", json_number(row.noise)},
                        {"bound", json_number(row.bound)},
                        {"within", row.is_within()}});
  }
  return document;
}

/// A profile of another model or precision is likely to be wrong; it is said, not refused.
void warn_of_profiles(const run_plan& plan) {
  for (const contender_plan& each : plan.contenders) {
    std::string computed = fmt::format("refrain's CPU engine, {}, {}",
                                       name_of(each.execution.precision), each.model.name);
    if (each.gpu.stack != computed) {
      std::cerr << fmt::format(
          "warning: {}: hardware.gpu was measured with \"{}\", and this is \"{}\"\n", each.name,
          each.gpu.stack, computed);
    }
  }
}

}  // namespace

void validate_command(const std::vector<std::string>& words) {
  arguments given{
      "validate", "validate SCENARIO [--set KEY=VALUE]... [--only CONTENDER]... [--json]",
      "Computes every request of a scenario for real, twice, and runs it by formula, and "
      "says how far the times are apart. The scenario names execution.model, and a profile "
      "that refrain calibrate has written."};
  given.word("SCENARIO", "the scenario file");
  given.option("set", "KEY=VALUE", "set a key of the scenario, or contender.NAME.KEY");
  given.option("only", "CONTENDER", "this contender only; may be repeated");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  run_request request{.scenario = given.required("SCENARIO"),
                      .sets = given.all("set"),
                      .only = given.all("only"),
                      .seed = std::nullopt,
                      .plugins = {}};
  run_request computed = request;
  computed.sets.emplace_back("execution.engine=\"cpu\"");
  warn_of_profiles(load_run(computed));
  stop_on_signal signals{"refrain: interrupted\n", ""};
  temporary_folder folder;
  results_reader formula = run_with(request, "cost_model", folder.path() / "formula.h5");
  results_reader real = run_with(request, "cpu", folder.path() / "real.h5");
  results_reader again = run_with(request, "cpu", folder.path() / "again.h5");
  std::vector<validation_row> rows = compare_runs(real, again, formula);
  if (given.has("json")) {
    print_json(document_of(rows));
  } else {
    print_rows(rows);
  }
}

}  // namespace refrain
