// How an actor's failure ends the run: each actor is protected at its start, and the first
// failure's own words are kept for the person who reads the error.
#pragma once

#include <caf/scheduled_actor.hpp>
#include <string>
#include <string_view>

namespace refrain {

/// Collects the first failure of a contender's actors. Lives as long as its actor system.
class run_monitor {
 public:
  void fail(std::string_view who, std::string_view what);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  /// Makes exceptions, error messages, unexpected messages and unanswered requests of `self` fail
  /// the run.
  void protect(caf::scheduled_actor* self, std::string_view who);

 private:
  std::string failure_;
};

}  // namespace refrain
