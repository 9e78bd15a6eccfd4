// The population: everybody who sends requests. It pulls the workload one row at a time, no earlier
// than it must, and keeps one session actor per live conversation, so its memory does not grow with
// the length of a trace.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <caf/event_based_actor.hpp>
#include <memory>

#include "actors/context.hpp"
#include "actors/lost_tokens.hpp"
#include "traces/chunks.hpp"
#include "traces/source.hpp"

namespace refrain {

class population final : public caf::event_based_actor {
 public:
  population(caf::actor_config& config, contender_context* context);

 protected:
  caf::behavior make_behavior() override;

 private:
  void pull();
  void hand_over(refrain::request& row);
  std::vector<seen_mark> marks_of(const refrain::request& row);

  contender_context& context_;
  std::unique_ptr<source> rows_;
  chunk_sequences chunks_;  // of all rows so far, where they are counted
  absl::flat_hash_map<session_id, caf::actor> sessions_;  // those that have turns to come
};

}  // namespace refrain
