#include "actors/recorder.hpp"

#include <caf/all.hpp>

#include "actors/recorder_tables.hpp"
#include "analysis/summary.hpp"

namespace refrain {

recorder::recorder(caf::actor_config& config, contender_context* context, contender_writer results)
    : caf::event_based_actor{config},
      context_{*context},
      results_{results},
      columns_{context->workload.info.has_measured, context->plan.retrieval.search != nullptr,
               context->workload.count_seen, context->workload.info.has_truth,
               context->plan.knowledge.plays()},
      requests_{results_.open("requests", requests_table(columns_))},
      executors_{results_.open("executors", executors_table())},
      updates_{updates_table()},
      last_(static_cast<std::size_t>(context->plan.executors)) {
  if (context->plan.execution.weights != nullptr || context->plan.execution.recorded != nullptr) {
    iterations_ = results_.open("iterations", iterations_table());
  }
}

caf::behavior recorder::make_behavior() {
  context_.monitor.protect(this, "recorder");
  return {
      [this](const request_over& row) { record(row); },
      [this](const executor_sample& row) { record(row); },
      [this](const iteration_timed& row) { record(row); },
      [this](const tier_summary& row) { tiers_.push_back(row); },
      [this](const corpus_changed& row) {
        add_update(updates_, row.what, context_.plan.knowledge.updates);
      },
      [this](close_books) { close(); },
  };
}

void recorder::record(const request_over& row) {
  add_request(requests_.rows(), row, columns_);
  requests_.commit();
  context_.control.finished.fetch_add(1, std::memory_order_relaxed);
}

void recorder::record(const executor_sample& row) {
  add_sample(executors_.rows(), row);
  executors_.commit();
  last_[row.executor] = row;
}

void recorder::record(const iteration_timed& row) {
  add_iteration(iterations_->rows(), row);
  iterations_->commit();
}

void recorder::close() {
  std::int64_t peak_blocks = 0;
  std::int64_t iterations = 0;
  std::int64_t evictions = 0;
  for (const executor_sample& s : last_) {
    peak_blocks += s.peak_blocks;
    iterations += s.iterations;
    evictions += s.evictions;
  }
  table totals = totals_table();
  auto add = [&totals](const char* name, const char* unit, std::int64_t value) {
    totals.at("name").texts().push_back(name);
    totals.at("unit").texts().push_back(unit);
    totals.at("value").integers().push_back(value);
  };
  add("gpu_kv_peak_bytes", "bytes", peak_blocks * context_.plan.block_bytes());
  add("iterations", "1", iterations);
  add("evicted_blocks", "blocks", evictions);
  if (context_.plan.sample.weights != nullptr) {
    results_.write("measured",
                   context_.sample.measure([this] { return !context_.control.stopped(); }));
    add("sample_left_out", "requests", context_.sample.left_out());
  }
  if (context_.plan.knowledge.plays()) {
    results_.write("updates", updates_);
  }
  results_.write("tiers", tiers_table(context_.plan, last_, tiers_));
  results_.write("totals", totals);
  results_.close();
}

}  // namespace refrain
