// Signals that are meant for the program reach the parent; it passes them on and waits.
#include "scenarios/crash_guard.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {

namespace {

constexpr std::array faults{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

volatile sig_atomic_t worker = 0;

void pass_on(int signal) {
  kill(static_cast<pid_t>(worker), signal);
}

/// A crash is expected: it ends the child by its signal, whatever a sanitizer would do, and leaves
/// no core.
void become_worker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int fault : faults) {
    signal(fault, SIG_DFL);
  }
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

int wait_for(pid_t child) {
  worker = child;
  signal(SIGINT, pass_on);
  signal(SIGTERM, pass_on);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return state;
}

}  // namespace

void guard_against_crashes(const std::string& path) {
  pid_t child = fork();
  if (child < 0) {
    throw run_error{fmt::format("cannot start a process: {}", std::strerror(errno))};
  }
  if (child == 0) {
    become_worker();
    return;
  }
  int state = wait_for(child);
  if (WIFEXITED(state)) {
    _exit(WEXITSTATUS(state));
  }
  for (int fault : faults) {
    if (WTERMSIG(state) == fault) {
      throw input_error{path, fmt::format("is damaged: reading it ended with \"{}\"",
                                          strsignal(WTERMSIG(state)))};
    }
  }
  throw run_error{
      fmt::format("{}: reading it was ended by \"{}\"", path, strsignal(WTERMSIG(state)))};
}

}  // namespace refrain
