// A handler may touch lock-free atomics and plain memory that was written before it was installed,
// and call what POSIX lists as safe. It never returns into a library that it has left half done: it
// either sets a flag or leaves by _exit, which runs no destructor and no exit handler.
#include "scenarios/stop_on_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "actors/contender.hpp"

namespace refrain {

namespace {

enum class phase { playing, leaving, holding };

std::atomic<phase> now{phase::playing};
std::atomic<bool> signalled{false};
static_assert(std::atomic<phase>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "used in a signal handler");

// Written while no handler of ours is installed.
std::string last_words;
std::string unfinished;

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, signals.size()> before;

void on_signal(int) {
  bool is_first = !signalled.exchange(true);
  phase current = now.load();
  if (current == phase::holding || (current == phase::playing && is_first)) {
    return;
  }
  unlink(unfinished.c_str());
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, last_words.data(), last_words.size());
  _exit(130);
}

}  // namespace

stop_on_signal::stop_on_signal(std::string farewell, std::string temporary) {
  last_words = std::move(farewell);
  unfinished = std::move(temporary);
  now = phase::playing;
  signalled = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before[i]);
    bool is_kept_off = signals[i] == SIGHUP && before[i].sa_handler == SIG_IGN;  // by nohup
    if (!is_kept_off) {
      sigaction(signals[i], &action, nullptr);
    }
  }
}

stop_on_signal::~stop_on_signal() {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &before[i], nullptr);
  }
}

bool stop_on_signal::asked() {
  return signalled;
}

void stop_on_signal::leave_at_once() {
  now = phase::leaving;
  if (signalled) {
    throw interrupted{};
  }
}

void stop_on_signal::hold() {
  now = phase::holding;
}

}  // namespace refrain
