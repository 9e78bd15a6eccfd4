// The [execution] of a contender: by formula, computed for real, or played again from a result
// file.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "actors/plan.hpp"
#include "policies/reuse.hpp"
#include "scenarios/settings.hpp"

namespace refrain {

/// Resolves what contenders execute; those of one model share its weights.
class execution_planner {
 public:
  /// The model's shape, from model.name or from the weights that are computed with, and how
  /// iterations get their times. `contender` is its name, `file` the scenario's. Throws input_error
  /// for a model or recorded run that cannot be read.
  void plan(const scenario_settings& settings, const std::string& contender,
            const std::string& file, contender_plan& into);
  /// The sample that is computed beside the simulation, of a workload with so many sessions.
  sample_plan sample(const scenario_settings& settings, const std::string& file,
                     const contender_plan& plan, std::uint64_t sessions);

 private:
  std::shared_ptr<const llama_weights> weights_of(const scenario_settings& settings);

  std::map<std::string, std::shared_ptr<const llama_weights>> weights_;
};

/// Throws input_error where a run is to be played again and no contender computes.
void check_replay(const scenario_settings& settings, std::span<const contender_plan> contenders);

/// What to say where requests of so many blocks have more positions than the model was trained
/// with; else "".
std::string warn_of_positions(const contender_plan& plan, std::int64_t longest_blocks);

/// Whether the key says what to compute and the contender computes nothing.
bool is_idle_execution(std::string_view key, const contender_plan& plan);

/// Throws input_error where the contender asks for what an engine that computes does not have:
/// memory below the GPU, several ranks, chunks, blocks that take no room or are half full; and
/// where the workload's tokens, of a run or of a sample, are not in the model's vocabulary.
void check_execution(const scenario_settings& settings, const contender_plan& plan,
                     const trace_info& info, const reuse_needs& reusing);

}  // namespace refrain
