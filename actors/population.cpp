#include "actors/population.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/messages.hpp"
#include "actors/session.hpp"

namespace refrain {

population::population(caf::actor_config& config, contender_context* context)
    : caf::event_based_actor{config}, context_{*context}, rows_{context->workload.open()} {}

caf::behavior population::make_behavior() {
  context_.monitor.protect(this, "population");
  send(this, next_row{});
  return {
      [this](next_row) { pull(); },
      [this](turn_over) {
        if (context_.workload.serial) {
          pull();
        }
      },
  };
}

void population::pull() {
  refrain::request row;
  while (rows_->next(row)) {
    // Arrivals may run backwards by `disorder`, so the next row is pulled that much earlier.
    sim_time due = row.arrival - rows_->info().disorder;
    hand_over(row);
    if (context_.workload.serial) {
      return;
    }
    if (due > context_.time.now()) {
      delayed_send(this, due - context_.time.now(), next_row{});
      return;
    }
  }
}

void population::hand_over(refrain::request& row) {
  auto found = sessions_.find(row.session);
  caf::actor who;
  if (found != sessions_.end()) {
    who = found->second;
  } else {
    who = spawn<session, caf::lazy_init>(&context_);
  }
  if (!row.last_turn && found == sessions_.end()) {
    sessions_.emplace(row.session, who);
  } else if (row.last_turn && found != sessions_.end()) {
    sessions_.erase(found);
  }
  std::vector<seen_mark> seen;
  if (context_.workload.count_seen) {
    seen = marks_of(row);
  }
  send(who, turn{std::move(row), std::move(seen)});
}

// In the order of the trace, whatever the order of service.
std::vector<seen_mark> population::marks_of(const refrain::request& row) {
  std::vector<seen_mark> marks;
  chunks_.begin(row.salt);
  for (const segment& piece : row.segments) {
    chunk_finding found = chunks_.add(piece, {});
    marks.push_back({{}, found.anywhere, found.in_prefix});
  }
  chunks_.end(row.answer);
  return marks;
}

}  // namespace refrain
