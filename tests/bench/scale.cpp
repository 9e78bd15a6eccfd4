// The program runs as a process of its own, so that its CPU time and its memory are told apart from
// ours. Time and memory of ten times the trace should be ten times and once; two contenders on two
// cores should take as long as one, where two cores are free.
#include "tests/bench/scale.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace refrain {
namespace {

struct cost {
  double cpu_seconds = 0;
  double wall_seconds = 0;
  double peak_mib = 0;
  bool done = false;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

cost run(long requests, std::vector<std::string> more) {
  std::string file = (std::filesystem::temp_directory_path() / "refrain-bench-scale.h5").string();
  std::vector<std::string> words{REFRAIN_PROGRAM,
                                 "run",
                                 REFRAIN_SCALE_SCENARIO,
                                 "-o",
                                 file,
                                 "--force",
                                 "--set",
                                 "workload.generator.requests=" + std::to_string(requests)};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  auto begin = std::chrono::steady_clock::now();
  pid_t process = fork();
  if (process == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int state = 0;
  rusage used{};
  wait4(process, &state, 0, &used);
  std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::filesystem::remove(file);
  return {seconds_of(used.ru_utime) + seconds_of(used.ru_stime), wall.count(),
          static_cast<double>(used.ru_maxrss) / 1024, WIFEXITED(state) && WEXITSTATUS(state) == 0};
}

void print(const char* what, const cost& c) {
  std::printf("%-38s %9.2f s CPU %9.2f s %9.1f MiB%s\n", what, c.cpu_seconds, c.wall_seconds,
              c.peak_mib, c.done ? "" : "  FAILED");
}

}  // namespace

void bench_scale() {
  constexpr long few = 30'000;
  std::printf("\nthe program on tests/bench/scale.toml\n");
  cost once = run(few, {"--only", "lru"});
  print("30,000 requests", once);
  cost tenfold = run(10 * few, {"--only", "lru"});
  print("300,000 requests", tenfold);
  cost both = run(10 * few, {"--jobs", "2"});
  print("300,000 requests, two contenders", both);
  std::printf("ten times the trace: %.2f times the CPU time, %.2f times the memory\n",
              tenfold.cpu_seconds / once.cpu_seconds, tenfold.peak_mib / once.peak_mib);
  std::printf("two contenders beside each other: %.2f times the time of one, %.2f times its CPU\n",
              both.wall_seconds / tenfold.wall_seconds, both.cpu_seconds / tenfold.cpu_seconds);
}

}  // namespace refrain
