// The recorder: one row per finished request, in order of completion, a time series per executor,
// and at the end what the GPU tiers did in all.
#pragma once

#include <caf/event_based_actor.hpp>
#include <optional>
#include <vector>

#include "actors/context.hpp"
#include "actors/messages.hpp"
#include "actors/recorder_tables.hpp"
#include "analysis/results_writer.hpp"

namespace refrain {

class recorder final : public caf::event_based_actor {
 public:
  recorder(caf::actor_config& config, contender_context* context, contender_writer results);

 protected:
  caf::behavior make_behavior() override;

 private:
  void record(const request_over& row);
  void record(const executor_sample& row);
  void record(const iteration_timed& row);
  void close();

  contender_context& context_;
  contender_writer results_;
  request_columns columns_;
  part_stream requests_;
  part_stream executors_;
  std::optional<part_stream> iterations_;  // where they are timed
  table updates_;                          // where the corpus changes
  std::vector<executor_sample> last_;      // by executor
  std::vector<tier_summary> tiers_;        // in order of tier and instance
};

}  // namespace refrain
