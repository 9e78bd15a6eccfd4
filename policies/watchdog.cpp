#include "policies/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace refrain {

namespace {

constexpr int looks_allowed = 20;

void leave(const std::string& message) {
  std::fprintf(stderr, "refrain: %s\n", message.c_str());
  std::fflush(stderr);
  _exit(1);
}

/// Seconds as people write them: 10, 0.5.
std::string short_number(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

/// All slots, and the thread that looks at them. Never destroyed: the thread outlives main().
class watchdog {
 public:
  static watchdog& instance() {
    static auto* only = new watchdog;
    return *only;
  }

  void add(call_slot& slot) {
    std::lock_guard lock{mutex_};
    slots_.push_back(&slot);
    if (!started_) {
      started_ = true;
      std::thread{[this] { watch(); }}.detach();
    }
  }
  void remove(call_slot& slot) {
    std::lock_guard lock{mutex_};
    std::erase(slots_, &slot);
  }
  void set_handler(std::function<void(const std::string&)> handler) {
    std::lock_guard lock{mutex_};
    handler_ = std::move(handler);
  }

 private:
  [[noreturn]] void watch() {
    std::chrono::duration<double> between{watchdog_seconds() / looks_allowed};
    for (;;) {
      std::this_thread::sleep_for(between);
      std::lock_guard lock{mutex_};
      for (call_slot* slot : slots_) {
        look_at(*slot);
      }
    }
  }

  void look_at(call_slot& slot) {
    std::uint64_t changes = slot.changes.load(std::memory_order_acquire);
    bool same_call = changes % 2 == 1 && changes == slot.seen;
    slot.seen = changes;
    slot.looks = same_call ? slot.looks + 1 : 0;
    if (slot.looks >= looks_allowed) {
      handler_(slot.who + ": " + slot.call.load(std::memory_order_relaxed) +
               "() has not returned for " + short_number(watchdog_seconds()) + " s");
      std::abort();
    }
  }

  std::mutex mutex_;
  std::vector<call_slot*> slots_;
  std::function<void(const std::string&)> handler_ = leave;
  bool started_ = false;
};

}  // namespace

watched_slot::watched_slot(std::string who) {
  slot_.who = std::move(who);
  watchdog::instance().add(slot_);
}

watched_slot::~watched_slot() {
  watchdog::instance().remove(slot_);
}

double watchdog_seconds() {
  constexpr double standard = 10;
  static const double seconds = [] {
    const char* text = std::getenv("REFRAIN_WATCHDOG_SECONDS");
    double given = text == nullptr ? standard : std::strtod(text, nullptr);
    return given >= 0.01 && given <= 1e6 ? given : standard;
  }();
  return seconds;
}

void set_hang_handler(std::function<void(const std::string& message)> handler) {
  watchdog::instance().set_handler(std::move(handler));
}

}  // namespace refrain
