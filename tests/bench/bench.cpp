// Benchmarks: replay on a Zipf trace of 10 M accesses to 1 M objects (exponent 1, seed 42), and one
// contender of the Mooncake conversation scenario; how the program scales (scale.cpp), and the
// engine on the CPU (engine.cpp). Figures are CPU time of this thread, the best of five; each
// policy's is also a ratio to a plain loop that only looks every key up in absl::flat_hash_map, so
// that machines and noisy hours can be compared.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/contender.hpp"
#include "gpu/capacity.hpp"
#include "policies/batching.hpp"
#include "policies/lru_curve.hpp"
#include "policies/replay.hpp"
#include "policies/reuse.hpp"
#include "policies/routing.hpp"
#include "tests/bench/engine.hpp"
#include "tests/bench/scale.hpp"
#include "tests/zipf.hpp"
#include "traces/adapt.hpp"

namespace refrain {
namespace {

double best_of_five(const std::function<double()>& seconds) {
  double best = seconds();
  for (int i = 1; i < 5; ++i) {
    best = std::min(best, seconds());
  }
  return best;
}

// What a cache cannot do without: one look-up of each key.
double lookup_seconds(const access_columns& columns, std::size_t keys) {
  absl::flat_hash_map<block_key, std::uint32_t> map;
  for (block_key key : columns.keys) {
    if (map.size() == keys) {
      break;
    }
    map.emplace(key, 0);
  }
  double begin = thread_seconds();
  std::uint64_t found = 0;
  for (block_key key : columns.keys) {
    found += map.contains(key) ? 1 : 0;
  }
  double seconds = thread_seconds() - begin;
  return found > 0 ? seconds : 0;
}

void bench_replay() {
  access_columns columns = testing::zipf_columns(10'000'000, 1'000'000, false);
  double count = static_cast<double>(columns.keys.size());
  std::printf("replay of 10 M accesses, Zipf 1.0 over 1 M objects\n");
  std::printf("%-8s %9s %12s %10s %14s %12s\n", "policy", "capacity", "misses", "M/s", "x look-up",
              "bytes/slot");
  for (std::int64_t capacity : {10'000, 100'000}) {
    double lookup =
        best_of_five([&] { return lookup_seconds(columns, static_cast<std::size_t>(capacity)); });
    for (const char* policy : {"lru", "fifo", "lfu", "sieve", "s3fifo", "arc", "gdsf", "slru",
                               "lrfu", "lfu_da", "two_q", "w_tinylfu", "lirs", "lhd"}) {
      replay_result result;
      double seconds = best_of_five([&] {
        result = replay(columns, policy, {}, capacity, replay_rule::flat, "bench");
        return result.seconds;
      });
      std::printf("%-8s %9ld %12lu %10.1f %14.2f %12.1f\n", policy, static_cast<long>(capacity),
                  static_cast<unsigned long>(result.misses()), count / seconds / 1e6,
                  lookup / seconds,
                  static_cast<double>(result.peak_bytes) / static_cast<double>(capacity));
    }
  }
}

// All capacities of LRU in one pass, by the time of one replay at the middle capacity.
void bench_curve() {
  access_columns columns = testing::zipf_columns(10'000'000, 1'000'000, false);
  for (std::int64_t capacity : {10'000, 100'000}) {
    double one = best_of_five(
        [&] { return replay(columns, "lru", {}, capacity, replay_rule::flat, "bench").seconds; });
    double all = best_of_five([&] {
      double begin = thread_seconds();
      lru_curve curve{columns, replay_rule::flat, false};
      std::uint64_t hits = 0;
      for (std::int64_t i = 1; i <= 200; ++i) {
        hits += curve.at(i * 4'000).hits;
      }
      return hits > 0 ? thread_seconds() - begin : 0;
    });
    std::printf("lru at 200 capacities: %.2f times one replay at %ld\n", all / one,
                static_cast<long>(capacity));
  }
}

template <class Entry>
policy_choice choose(const char* name) {
  return {name, parameters{registry<Entry>::find(name, "bench").info.parameters, {}, "bench"}};
}

contender_plan conversation_plan() {
  contender_plan p{.name = "lru",
                   .seed = 1,
                   .model = load_model("llama-3-8b"),
                   .gpu = load_profile("h100-sxm"),
                   .keys = key_scheme{token_count{512}, token_count{512}}};
  p.executors = 8;
  p.host_overhead = from_seconds(1e-3);
  p.blocks = kv_blocks(p.gpu, p.model, 1, 0.9, 512);
  p.slots = static_cast<std::uint32_t>(p.blocks);
  p.reuse = choose<reuse_entry>("prefix");
  p.eviction = choose<eviction_entry>("lru");
  p.batching = choose<batching_entry>("fcfs");
  p.routing = choose<routing_entry>("round_robin");
  return p;
}

void bench_run() {
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/mooncake/conversation_trace.jsonl.gz";
  if (!std::filesystem::exists(path)) {
    std::printf("\nno Mooncake trace here: the run benchmark is left out\n");
    return;
  }
  workload_plan w;
  w.open = [path] {
    return adapt([path] { return open_trace("mooncake", {.path = path}); },
                 {.spread = from_seconds(3), .seed = 1});
  };
  auto rows = w.open();
  for (request r; rows->next(r);) {
    ++w.requests;
  }
  w.info = rows->info();
  std::string file = (std::filesystem::temp_directory_path() / "refrain-bench.h5").string();
  double seconds = best_of_five([&] {
    double begin = thread_seconds();
    contender_control control;
    results_writer writer{file, {"bench", "", 1, "", "", "", {}, {{"lru", {}}}}};
    run_contender(w, conversation_plan(), writer.contender(0), control);
    writer.finish({});
    return thread_seconds() - begin;
  });
  std::filesystem::remove(file);
  std::printf(
      "\nMooncake conversation, 8 executors, lru: %lu requests, %.0f requests per CPU-second with "
      "results written\n",
      static_cast<unsigned long>(w.requests), static_cast<double>(w.requests) / seconds);
}

}  // namespace
}  // namespace refrain

// All parts, or those that are named; other words are the engine's: a model file, precisions.
int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each row as soon as it is known
  std::vector<std::string_view> named{words + 1, words + count};
  const std::pair<std::string_view, std::function<void()>> parts[] = {
      {"replay", refrain::bench_replay},
      {"curve", refrain::bench_curve},
      {"run", refrain::bench_run},
      {"scale", refrain::bench_scale},
      {"engine", [&] { refrain::bench_engine(named); }}};
  for (const auto& [name, part] : parts) {
    if (count == 1 || std::find(named.begin(), named.end(), name) != named.end()) {
      part();
    }
  }
}
