// Runs code that may crash or hang in a process of its own, so that what it does to itself is a
// finding and not the end of the program.
#pragma once

#include <functional>
#include <string>

namespace refrain {

/// What a child process left.
struct child_outcome {
  bool answered = false;  ///< it returned from its work
  bool hung = false;      ///< the watchdog ended it
  std::string text;       ///< its answer, what the watchdog said, or how it died, as one line
};

/// Forks, does `work` in the child and waits for what it returns. To be called before there are
/// threads. Throws run_error where no process can be had.
child_outcome run_in_child(const std::function<std::string()>& work);

}  // namespace refrain
