// What SIGINT, SIGTERM and SIGHUP do to a run. While contenders play, the first one asks them to
// stop, so that every row is kept; at any other time, and the second one always, ends the program
// at once with exit status 130, since everything that is done is on the disk already.
#pragma once

#include <atomic>
#include <string>

namespace refrain {

/// Takes the signals while it lives; one at a time.
class stop_on_signal {
 public:
  /// Whoever leaves at once says `farewell` and removes the unfinished file `temporary`.
  stop_on_signal(std::string farewell, std::string temporary);
  ~stop_on_signal();
  stop_on_signal(const stop_on_signal&) = delete;
  stop_on_signal& operator=(const stop_on_signal&) = delete;

  /// Whether the contenders are to stop.
  static bool asked();
  /// The contenders are done: from now on a signal ends the program at once. Throws `interrupted`
  /// where one has come already.
  void leave_at_once();
  /// The results are whole and move to their place: it is too late to stop.
  void hold();
};

}  // namespace refrain
