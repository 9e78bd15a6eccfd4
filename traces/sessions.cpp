// Sessions are numbered in order of their first good row, in both passes alike.
#include "traces/sessions.hpp"

#include <algorithm>
#include <utility>

#include "traces/error.hpp"

namespace refrain {

open_session* session_book::find(const std::string& name) {
  auto found = open_.find(name);
  return found == open_.end() ? nullptr : &found->second;
}

void session_book::begin(const std::string& name, request& out) {
  open_session session{.id = session_id{count_++}, .start = out.arrival};
  take_turn(session, out);
  open_.insert_or_assign(name, session);
}

void session_book::stand_alone(request& out) {
  open_session session{.id = session_id{count_++}};
  take_turn(session, out);
}

void session_book::follow(const std::string& known, const std::string& name, request& out) {
  auto node = open_.extract(known);
  REFRAIN_ASSERT(!node.empty());
  take_turn(node.mapped(), out);
  node.key() = name;
  REFRAIN_ASSERT(open_.insert(std::move(node)).inserted);
}

void session_book::take_turn(open_session& session, request& out) const {
  out.session = session.id;
  out.turn = session.turns++;
  out.last_turn = !turns_ || session.turns == turns_->at(session.id);
}

turn_counts count_session_turns(source& scout) {
  turn_counts turns;
  request row;
  try {
    while (scout.next(row)) {
      turns.resize(std::max<std::size_t>(turns.size(), row.session + 1));
      ++turns[row.session];
    }
  } catch (const input_error&) {
    if (scout.counts().rows_kept > 0) {
      throw;  // damaged data
    }
  }
  return turns;
}

source_options scouting(source_options options) {
  options.drop_bad_rows = true;
  options.on_bad_row = nullptr;
  return options;
}

}  // namespace refrain
