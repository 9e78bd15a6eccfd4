// The watchdog over code that is not ours: a call into a plug-in that does not return would hang
// the program without a word. Each guarded object counts its calls in a slot of its own; a thread
// that starts with the first slot looks at all of them twenty times in the time allowed and ends
// the program when one call was seen in progress at every look. Looks are counted rather than time
// measured, so a program that was stopped and goes on is not taken for one that hangs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace refrain {

/// What one guarded object is doing.
struct call_slot {
  std::string who;                        ///< file and policy, for the message
  std::atomic<std::uint64_t> changes{0};  ///< odd while a call is in progress
  std::atomic<const char*> call{""};      ///< which one
  std::uint64_t seen = 0;                 ///< the watchdog's
  int looks = 0;                          ///< the watchdog's: how often `seen` was odd and equal
};

/// Watches a slot while it lives. The slot is written by one thread only.
class watched_slot {
 public:
  explicit watched_slot(std::string who);
  ~watched_slot();
  watched_slot(const watched_slot&) = delete;
  watched_slot& operator=(const watched_slot&) = delete;

  void enter(const char* call) {
    slot_.call.store(call, std::memory_order_relaxed);
    slot_.changes.store(++changes_, std::memory_order_release);
  }
  void leave() { slot_.changes.store(++changes_, std::memory_order_release); }
  const std::string& who() const { return slot_.who; }

 private:
  call_slot slot_;
  std::uint64_t changes_ = 0;
};

/// Seconds that one call may take: 10, or what REFRAIN_WATCHDOG_SECONDS says (tests shorten it).
double watchdog_seconds();

/// What is done with the message when a call does not return, on the watchdog's thread; it must not
/// come back. Until it is set the message goes to stderr and the program leaves with status 1.
void set_hang_handler(std::function<void(const std::string& message)> handler);

}  // namespace refrain
