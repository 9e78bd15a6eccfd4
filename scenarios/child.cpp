// The answer comes through a pipe, a letter first that tells who speaks: a for an answer, h for the
// watchdog. A child that dies has said neither; its last words on stderr then say why.
#include "scenarios/child.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "policies/watchdog.hpp"
#include "scenarios/commands.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t count = read(file, buffer, sizeof buffer);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return text;
    }
    text.append(buffer, count < 0 ? 0 : static_cast<std::size_t>(count));
  }
}

[[noreturn]] void be_child(int answers, int errors, const std::function<std::string()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    signal(fault, SIG_DFL);
  }
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  dup2(errors, STDERR_FILENO);
  set_hang_handler([answers](const std::string& message) {
    write_all(answers, "h" + message);
    _exit(1);
  });
  write_all(answers, "a" + work());
  _exit(0);
}

/// The last line that says anything.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::string death_of(int state, const std::string& said) {
  std::string how = WIFSIGNALED(state)
                        ? fmt::format("ended with \"{}\"", strsignal(WTERMSIG(state)))
                        : fmt::format("left the program with status {}", WEXITSTATUS(state));
  return said.empty() ? how : how + ": " + said;
}

}  // namespace

child_outcome run_in_child(const std::function<std::string()>& work) {
  int answers[2];
  int errors = memfd_create("stderr", 0);
  if (errors < 0 || pipe(answers) != 0) {
    throw run_error{fmt::format("cannot open a pipe: {}", std::strerror(errno))};
  }
  std::cout.flush();
  pid_t child = fork();
  if (child < 0) {
    throw run_error{fmt::format("cannot start a process: {}", std::strerror(errno))};
  }
  if (child == 0) {
    close(answers[0]);
    be_child(answers[1], errors, work);
  }
  close(answers[1]);
  std::string answer = read_all(answers[0]);
  close(answers[0]);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  lseek(errors, 0, SEEK_SET);
  std::string said = last_line(read_all(errors));
  close(errors);
  child_outcome outcome{.answered = answer.starts_with('a'), .hung = answer.starts_with('h')};
  bool spoke = outcome.answered || outcome.hung;
  outcome.text = one_line(spoke ? answer.substr(1) : death_of(state, said));
  return outcome;
}

}  // namespace refrain
