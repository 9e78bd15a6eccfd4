// What the actor tests share: small workloads in memory, a contender over them, and its requests
// table.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actors/contender.hpp"
#include "actors/context.hpp"
#include "actors/messages.hpp"
#include "analysis/results_reader.hpp"
#include "policies/batching.hpp"
#include "policies/eviction.hpp"
#include "policies/reuse.hpp"
#include "policies/routing.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/random.hpp"

namespace refrain::testing {

/// Requests in memory as a source.
class vector_source final : public source {
 public:
  vector_source(const std::vector<request>& rows, const trace_info& info)
      : rows_{rows}, info_{info} {}
  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return counts_; }
  bool next(request& out) override {
    if (at_ == rows_.size()) {
      return false;
    }
    out = rows_[at_++];
    return true;
  }

 private:
  const std::vector<request>& rows_;
  const trace_info& info_;
  row_counts counts_;
  std::size_t at_ = 0;
};

/// A workload of chains over block ids: families of prompts that share heads.
struct small_workload {
  std::vector<request> rows;
  trace_info info;

  workload_plan plan() const {
    workload_plan w;
    w.open = [this] { return std::make_unique<vector_source>(rows, info); };
    w.info = info;
    w.requests = rows.size();
    return w;
  }
};

/// `count` requests of up to `longest` tokens in blocks of `block`, all drawn from `seed`.
inline small_workload random_chains(std::uint64_t seed, std::uint64_t count, std::int64_t block,
                                    std::int64_t longest, double mean_gap_s) {
  random_stream draws{seed, "random chains"};
  small_workload w;
  w.info = {.format = "memory",
            .block_tokens = token_count{block},
            .has_chains = true,
            .id_scope = "trace"};
  double now = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    request r{};
    r.id = request_id{i};
    r.session = session_id{i};
    r.arrival = from_seconds(now);
    // Some requests arrive at the very same instant.
    now += draws.below(4) == 0 ? 0 : draws.exponential(mean_gap_s);
    r.input_tokens = token_count{
        1 + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(longest)))};
    r.output_tokens = token_count{static_cast<std::int64_t>(draws.below(40))};
    std::uint64_t chain = draws.below(3);
    std::int64_t blocks = (r.input_tokens + block - 1) / block;
    std::int64_t shared = static_cast<std::int64_t>(draws.below(8));
    for (std::int64_t b = 0; b < blocks; ++b) {
      bool last_short = b + 1 == blocks && r.input_tokens % block != 0;
      // A short block's id also stands for its length.
      std::uint64_t what = b < shared ? 0 : 1 + draws.below(2);
      chain =
          mix64(chain, what * 1000 +
                           (last_short ? static_cast<std::uint64_t>(r.input_tokens % block) : 0));
      r.blocks.push_back(block_key{chain});
    }
    w.rows.push_back(std::move(r));
  }
  return w;
}

template <class Entry>
policy_choice choose(const std::string& name, const given_parameters& given = {}) {
  return {name, parameters{registry<Entry>::find(name, "test").info.parameters, given, "test"}};
}

/// A contender on one GPU with `blocks` KV blocks of `block` tokens.
inline contender_plan small_plan(std::int64_t blocks, std::int64_t block, const std::string& reuse,
                                 const std::string& eviction,
                                 const given_parameters& eviction_given = {}) {
  contender_plan p{.name = eviction,
                   .seed = 1,
                   .model = load_model("llama-3-8b"),
                   .gpu = load_profile("h100-sxm"),
                   .keys = key_scheme{token_count{block}, token_count{block}}};
  p.blocks = blocks;
  p.slots = static_cast<std::uint32_t>(blocks);
  p.unique_keys = 100'000;
  p.host_overhead = from_seconds(1e-3);
  p.reuse = choose<reuse_entry>(reuse);
  p.eviction = choose<eviction_entry>(eviction, eviction_given);
  p.batching = choose<batching_entry>("fcfs", {{"token_budget", "64"}, {"max_sequences", "6"}});
  p.routing = choose<routing_entry>("round_robin");
  return p;
}

/// Runs contenders into a folder that is gone after the test.
class run_test : public ::testing::Test {
 protected:
  /// The requests table, in order of completion.
  table run(const workload_plan& workload, const contender_plan& plan) {
    std::filesystem::path file = folder_ / "run.h5";
    std::filesystem::remove(file);
    contender_control control;
    results_writer writer{file, {"test", "", 1, "0", "0", "", {}, {{plan.name, {}}}}};
    run_contender(workload, plan, writer.contender(0), control);
    writer.finish({});
    EXPECT_EQ(control.finished, workload.requests);
    return results_reader{file}.read(0, "requests");
  }

  temporary_folder made_;
  std::filesystem::path folder_ = made_.path();
};

/// Keeps what a recorder would write.
class memory_recorder final : public caf::event_based_actor {
 public:
  memory_recorder(caf::actor_config& config, contender_control* control,
                  std::vector<request_over>* rows, std::vector<tier_summary>* tiers)
      : caf::event_based_actor{config}, control_{*control}, rows_{*rows}, tiers_{*tiers} {}

 protected:
  caf::behavior make_behavior() override {
    return {[this](const request_over& row) {
              rows_.push_back(row);
              control_.finished.fetch_add(1);
            },
            [](const executor_sample&) {},
            [this](const tier_summary& row) { tiers_.push_back(row); }, [](close_books) {}};
  }

 private:
  contender_control& control_;
  std::vector<request_over>& rows_;
  std::vector<tier_summary>& tiers_;
};

/// What a run without files left.
struct quick_results {
  std::vector<request_over> rows;  ///< in order of completion
  std::vector<tier_summary> tiers;
};

/// A run without files: many of them take little time.
inline quick_results quick_run(const workload_plan& workload, const contender_plan& plan) {
  quick_results results;
  contender_control control;
  auto record = [&](caf::actor_system& system, contender_context&) {
    return system.spawn<memory_recorder>(&control, &results.rows, &results.tiers);
  };
  run_contender(workload, plan, record, control);
  return results;
}

/// Whether two runs answered the same requests in the same order and at the same nanoseconds.
inline bool same_times(const quick_results& a, const quick_results& b) {
  return std::ranges::equal(a.rows, b.rows, [](const request_over& x, const request_over& y) {
    return x.id == y.id && x.result.first_token == y.result.first_token &&
           x.result.finished == y.result.finished && x.result.refused == y.result.refused;
  });
}

inline std::int64_t sum(const table& t, std::string_view column) {
  std::int64_t total = 0;
  for (std::int64_t v : t.at(column).integers()) {
    total += v;
  }
  return total;
}

/// Whether two tables hold the same, byte for byte (nan equals nan).
inline bool same(const table& a, const table& b) {
  if (!a.same_columns(b)) {
    return false;
  }
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    if (const auto* x = std::get_if<std::vector<double>>(&a.columns[i].values)) {
      const auto& y = b.columns[i].reals();
      if (x->size() != y.size() ||
          std::memcmp(x->data(), y.data(), x->size() * sizeof(double)) != 0) {
        return false;
      }
    } else if (a.columns[i].values != b.columns[i].values) {
      return false;
    }
  }
  return true;
}

/// A column's values by request.
template <class Value>
std::vector<Value> by_request(const table& t, std::string_view name) {
  const auto& ids = t.at("request").integers();
  const auto& values = std::get<std::vector<Value>>(t.at(name).values);
  std::vector<Value> sorted(values.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sorted[static_cast<std::size_t>(ids[i])] = values[i];
  }
  return sorted;
}

}  // namespace refrain::testing
