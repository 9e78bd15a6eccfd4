#include "tests/scenarios/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace refrain {

namespace fs = std::filesystem;

namespace {

std::string read_file(const fs::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

void redirect(int to, const fs::path& path) {
  int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0 || dup2(file, to) < 0) {
    _exit(126);
  }
}

/// Whether the program is over. It stays there to be waited for, and until then kill(process, 0)
/// would find it alive.
bool has_ended(pid_t process) {
  siginfo_t state{};
  int options = WEXITED | WNOHANG | WNOWAIT;
  return waitid(P_PID, static_cast<id_t>(process), &state, options) != 0 || state.si_pid == process;
}

}  // namespace

long finished_program::error_lines() const {
  return std::ranges::count(err, '\n');
}

std::string program_test::write(const std::string& name, const std::string& text) const {
  std::ofstream{folder_ / name, std::ios::binary} << text;
  return name;
}

std::string program_test::read(const std::string& name) const {
  return read_file(folder_ / name);
}

bool program_test::exists(const std::string& name) const {
  return fs::exists(folder_ / name);
}

std::vector<std::string> program_test::results() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator{folder_}) {
    std::string name = entry.path().filename().string();
    if (name.find(".h5") != std::string::npos) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

finished_program program_test::run(const std::vector<std::string>& words) const {
  return wait(start(words));
}

pid_t program_test::start(const std::vector<std::string>& words) const {
  std::vector<std::string> all{REFRAIN_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  pid_t process = fork();
  if (process == 0) {
    if (chdir(folder_.c_str()) != 0) {
      _exit(126);
    }
    redirect(STDOUT_FILENO, folder_ / "stdout");
    redirect(STDERR_FILENO, folder_ / "stderr");
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return process;
}

finished_program program_test::wait(pid_t process) const {
  int state = 0;
  EXPECT_EQ(waitpid(process, &state, 0), process);
  int status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return {status, read("stdout"), read("stderr")};
}

bool program_test::wait_until_exists(const std::vector<std::string>& names, pid_t process) const {
  while (true) {
    bool ended = has_ended(process);
    if (std::ranges::any_of(names, [this](const std::string& name) { return exists(name); })) {
      return true;
    }
    if (ended) {
      return false;
    }
    usleep(1000);
  }
}

std::string program_test::shared(const std::string& name) {
  fs::path path = fs::path{REFRAIN_SHARED_DATA} / name;
  return fs::exists(path) ? path.string() : "";
}

std::string program_test::source(const std::string& name) {
  return (fs::path{REFRAIN_SOURCE_DIR} / name).string();
}

}  // namespace refrain
