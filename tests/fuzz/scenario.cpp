// Any text as a scenario: refused by input_error only. What is accepted is resolved, checked and
// surveyed as `refrain run` does before virtual time starts, with a workload cut to a size that a
// fuzzer can wait for.
#include <string>

#include "memory_file.hpp"
#include "scenarios/document.hpp"
#include "scenarios/loader.hpp"

namespace {

using namespace refrain;

/// Counts that a scenario may set as large as a person likes.
const std::vector<std::string>& bounds() {
  static const std::vector<std::string> sets{"workload.limit=20",
                                             "workload.generator.requests=20",
                                             "workload.generator.sessions=20",
                                             "workload.generator.documents=50",
                                             "workload.generator.documents_per_turn=2",
                                             "workload.generator.system_prompts=3",
                                             "workload.generator.system_tokens=100",
                                             "workload.generator.tenants=3",
                                             "workload.generator.turns_mean=3",
                                             "workload.generator.prompt_tokens_max=3000"};
  return sets;
}

bool is_generated(const scenario_document& document) {
  scenario_settings all = document.resolved();
  return all.has("workload.format") && all.text("workload.format") == "generator";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const memory_file file;
  try {
    std::string text{reinterpret_cast<const char*>(data), size};
    scenario_document document{"scenario.toml", text};
    for (const contender_section& contender : document.contenders()) {
      document.resolved(contender);
    }
    if (is_generated(document)) {
      file.write(data, size);
      load_run({.scenario = file.path(), .sets = bounds(), .only = {}, .seed = {}});
    }
  } catch (const input_error&) {
    // what a person would be told
  }
  return 0;
}
