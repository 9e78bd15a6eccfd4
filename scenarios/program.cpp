// Finds the command and turns what it throws into one line and an exit status.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <new>
#include <span>

#include "actors/contender.hpp"
#include "refrain_version.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

struct command {
  std::string_view name;
  std::string_view summary;
  void (*run)(const std::vector<std::string>&);
};

constexpr command commands[] = {
    {"run", "run a scenario and set its contenders against each other", run_command},
    {"replay", "hits of policies on a trace, without time", replay_command},
    {"traces", "what a trace holds, row by row checked; write it again", traces_command},
    {"corpus", "a corpus to search: build it, check how well it is found", corpus_command},
    {"model", "what a model file holds; the tokens of a text", model_command},
    {"calibrate", "measure this machine for the cost model", calibrate_command},
    {"validate", "a scenario by formula and computed for real, side by side", validate_command},
    {"policies", "every policy with its parameters, defaults and source", policies_command},
    {"new", "write the one file that a policy needs", new_command},
    {"check", "the conformance kit: what every eviction policy must keep to", check_command},
    {"show", "the summary of a run again, finished or not", show_command}};

void print_usage() {
  std::cout << "usage: refrain COMMAND [...]\n\n";
  for (const command& each : commands) {
    std::cout << fmt::format("  {:<10} {}\n", each.name, each.summary);
  }
  std::cout
      << "\nrefrain COMMAND --help says more; refrain --version tells the version.\n"
         "Exit status: 0 done, 1 the run failed, 2 bad usage or bad input, 130 interrupted.\n";
}

void dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_usage();
    return;
  }
  if (words[0] == "--version") {
    std::cout << fmt::format("refrain {} ({})\n", program_version, program_commit);
    return;
  }
  std::vector<std::string_view> names;
  for (const command& each : commands) {
    if (each.name == words[0]) {
      each.run({words.begin() + 1, words.end()});
      return;
    }
    names.push_back(each.name);
  }
  throw usage_error{unknown_name("command", words[0], names)};
}

int report(std::string_view message, exit_status status) {
  std::cout.flush();
  std::cerr << "refrain: " << one_line(message) << std::endl;
  return static_cast<int>(status);
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line{text};
  for (char& c : line) {
    c = c == '\n' || c == '\r' ? ' ' : c;
  }
  return line;
}

int run_program(const std::vector<std::string>& words) {
  try {
    dispatch(words);
    std::cout.flush();
    return std::cout.good() ? 0 : report("cannot write to stdout", exit_status::failed);
  } catch (const input_error& error) {
    return report(error.what(), exit_status::bad_input);
  } catch (const usage_error& error) {
    return report(error.what(), exit_status::bad_input);
  } catch (const interrupted& error) {
    return report(error.what(), exit_status::interrupted);
  } catch (const std::bad_alloc&) {
    return report("out of memory", exit_status::failed);
  } catch (const std::exception& error) {
    return report(error.what(), exit_status::failed);
  }
}

}  // namespace refrain
