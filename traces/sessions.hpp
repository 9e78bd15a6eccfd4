// What the readers of formats with conversations share: which session a row continues, the number
// of its turn, and whether it is the last. The last turn is exact because the file is read once
// more beforehand (`count_session_turns`). A session is known by one name: always the same one, or,
// where rows name the row they follow, that of its latest row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/request.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Turns of each session, by its number.
using turn_counts = std::vector<std::uint32_t>;

/// A session as read so far.
struct open_session {
  session_id id;
  std::uint32_t turns = 0;
  sim_time start{0};     ///< arrival of its first turn
  sim_time answered{0};  ///< when its latest answer was complete, where the trace says so
};

/// The sessions of a trace while it is read.
class session_book {
 public:
  /// `turns` is what an earlier pass has counted; none during that pass.
  explicit session_book(std::optional<turn_counts> turns) : turns_{std::move(turns)} {}

  /// The session known by this name, or null.
  open_session* find(const std::string& name);
  /// Makes `out` the first turn of a new session, known by `name` from now on.
  void begin(const std::string& name, request& out);
  /// Makes `out` a session of its own.
  void stand_alone(request& out);
  /// Makes `out` the next turn of the session known by `known`, which is known by `name` from now
  /// on.
  void follow(const std::string& known, const std::string& name, request& out);

 private:
  void take_turn(open_session& session, request& out) const;

  std::optional<turn_counts> turns_;
  std::unordered_map<std::string, open_session> open_;
  std::uint64_t count_ = 0;
};

/// Reads a source that drops bad rows to its end. Throws input_error for damaged data; a file
/// without one good row is left to whoever reads it next.
turn_counts count_session_turns(source& scout);

/// The options of that pass over the same file: bad rows are dropped and nobody is told.
source_options scouting(source_options options);

}  // namespace refrain
