// `refrain show`: the summary of a run again, also of one that is not finished.
#include "analysis/results_reader.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/crash_guard.hpp"
#include "scenarios/run_document.hpp"

namespace refrain {

void show_command(const std::vector<std::string>& words) {
  arguments given{"show", "show FILE.h5 [--json]",
                  "Prints the summary of a run again; of an unfinished one, what there is so far."};
  given.word("FILE.h5", "the result file");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    return;
  }
  std::string path = given.required("FILE.h5");
  guard_against_crashes(path);
  run_report report = read_report(results_reader{path});
  if (given.has("json")) {
    print_json(report_document(report));
  } else {
    print_report(report);
  }
}

}  // namespace refrain
