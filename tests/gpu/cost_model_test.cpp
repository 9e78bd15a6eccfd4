// The cost model against the reference values of its formula, which two independent programs share,
// and properties that hold whatever the numbers.
#include "gpu/cost_model/cost_model.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/model.hpp"
#include "gpu/profile.hpp"
#include "support.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

using testing::HasSubstr;

cost_model make(const std::string& gpu, const std::string& model, std::int64_t tensor_parallel = 1,
                sim_time host_overhead = sim_time{0}) {
  return {load_profile(gpu), load_model(model), tensor_parallel, host_overhead};
}

batch prefill_of(std::int64_t new_tokens, std::int64_t cached_tokens) {
  return {.prefill = {{token_count{new_tokens}, token_count{cached_tokens}}}};
}

batch with_decodes(batch work, std::int64_t decodes, std::int64_t context) {
  work.decodes = decodes;
  work.decode_context = decodes * context;
  work.longest_decode_context = context;
  return work;
}

std::string milliseconds(sim_time time) {
  return fmt::format("{:.3f}", static_cast<double>(time.count()) * 1e-6);
}

struct reference {
  const char* gpu;
  const char* model;
  std::int64_t tensor_parallel;
  const char* prefill_2048;
  const char* suffix_512;
  const char* decode_1;
  const char* decode_32;
  const char* mixed;
};

constexpr reference references[] = {
    {"rtx-4090", "llama-3-8b", 1, "201.488", "60.336", "17.644", "27.031", "112.072"},
    {"a100-80gb-sxm", "llama-3-8b", 1, "145.205", "47.089", "11.478", "17.175", "83.947"},
    {"h100-sxm", "llama-3-8b", 1, "46.167", "15.066", "6.623", "9.624", "28.541"},
    {"h200", "llama-3-8b", 1, "44.772", "14.377", "5.203", "7.412", "27.392"},
    {"h100-sxm", "llama-3-70b", 4, "141.855", "42.370", "16.223", "18.877", "77.604"},
};

TEST(cost_model, gives_the_reference_values_to_the_microsecond) {
  for (const reference& row : references) {
    SCOPED_TRACE(fmt::format("{} {} tp {}", row.gpu, row.model, row.tensor_parallel));
    cost_model model = make(row.gpu, row.model, row.tensor_parallel);
    EXPECT_EQ(milliseconds(model.iteration(prefill_of(2048, 0))), row.prefill_2048);
    EXPECT_EQ(milliseconds(model.iteration(prefill_of(512, 3584))), row.suffix_512);
    EXPECT_EQ(milliseconds(model.iteration(with_decodes({}, 1, 2048))), row.decode_1);
    EXPECT_EQ(milliseconds(model.iteration(with_decodes({}, 32, 2048))), row.decode_32);
    EXPECT_EQ(milliseconds(model.iteration(with_decodes(prefill_of(1024, 0), 16, 2048))),
              row.mixed);
  }
}

batch random_batch(random_stream& random, bool prefill, bool decodes) {
  batch work;
  for (std::uint64_t n = prefill ? 1 + random.below(4) : 0; n > 0; --n) {
    work.prefill.push_back({token_count{static_cast<std::int64_t>(1 + random.below(2048))},
                            token_count{static_cast<std::int64_t>(random.below(16'384))}});
  }
  for (std::uint64_t n = decodes ? 1 + random.below(64) : 0; n > 0; --n) {
    auto context = static_cast<std::int64_t>(1 + random.below(16'384));
    ++work.decodes;
    work.decode_context += context;
    work.longest_decode_context = std::max(work.longest_decode_context, context);
  }
  return work;
}

bool any_pair(const std::string&, const model_shape&) {
  return true;
}

template <class Check>
void on_every_gpu_and_model(Check check,
                            bool (*takes)(const std::string&, const model_shape&) = any_pair) {
  for (const std::string& gpu : profile_names()) {
    for (const std::string& name : model_names()) {
      if (!takes(gpu, load_model(name))) {
        continue;
      }
      SCOPED_TRACE(gpu + " " + name);
      cost_model model = make(gpu, name);
      random_stream random{1, gpu + name};
      for (int round = 0; round < 50; ++round) {
        check(model, random);
      }
    }
  }
}

TEST(cost_model, never_charges_less_for_more_tokens) {
  on_every_gpu_and_model([](cost_model& model, random_stream& random) {
    bool prefill = random.below(2) == 0;
    batch work = random_batch(random, prefill, !prefill || random.below(2) == 0);
    sim_time before = model.iteration(work);
    if (prefill) {
      batch longer = work;
      longer.prefill[0].new_tokens += token_count{static_cast<std::int64_t>(random.below(300))};
      EXPECT_GE(model.iteration(longer), before);
      batch deeper = work;
      deeper.prefill[0].cached_tokens += token_count{static_cast<std::int64_t>(random.below(300))};
      EXPECT_GE(model.iteration(deeper), before);
      batch more = work;
      more.prefill.push_back({token_count{1}, token_count{0}});
      EXPECT_GT(model.iteration(more), before);
    }
    if (work.decodes > 0) {
      batch more = work;
      ++more.decodes;
      ++more.decode_context;
      EXPECT_GT(model.iteration(more), before);
    }
  });
}

TEST(cost_model, steps_and_lines_agree_to_the_nanosecond_on_decode_only_batches) {
  on_every_gpu_and_model([](cost_model& model, random_stream& random) {
    batch work = random_batch(random, false, true);
    decode_line line = model.decode(work.decodes);
    EXPECT_EQ(model.iteration(work), line.at(work.decode_context));
    EXPECT_GT(line.per_key_s, 0);
  });
}

// Two limits of the formula, which fits the two kinds of launch apart: beside a short chunk many
// decodes may be cheaper than alone, and on the L40S, whose prefill kernel was fitted to move bytes
// faster than its decode kernel, so may those of models without grouped queries.
TEST(cost_model, charges_more_for_a_mixed_batch_than_for_either_part) {
  auto check = [](cost_model& model, random_stream& random) {
    batch mixed = random_batch(random, true, true);
    mixed.prefill[0].new_tokens += token_count{512};
    batch prefill{.prefill = mixed.prefill};
    batch decodes = mixed;
    decodes.prefill.clear();
    EXPECT_GT(model.iteration(mixed), model.iteration(prefill));
    EXPECT_GT(model.iteration(mixed), model.iteration(decodes));
  };
  on_every_gpu_and_model(check, [](const std::string& gpu, const model_shape& model) {
    return gpu != "l40s" || model.kv_heads < model.heads;
  });
}

TEST(cost_model, adds_host_time_to_every_iteration) {
  cost_model bare = make("h100-sxm", "llama-3-8b");
  cost_model hosted = make("h100-sxm", "llama-3-8b", 1, sim_time{1'000'000});
  for (const batch& work : {prefill_of(2048, 0), with_decodes({}, 32, 2048)}) {
    std::int64_t difference = (hosted.iteration(work) - bare.iteration(work)).count();
    EXPECT_NEAR(static_cast<double>(difference), 1e6, 1);
  }
}

// Halving the heads' size and doubling their number leaves all sizes but the reachable rate.
TEST(cost_model, slows_prefill_attention_down_for_small_heads_and_speeds_it_up_for_large_ones) {
  hardware_profile profile = load_profile("a100-80gb-sxm");
  profile.prefill_attention.sharpness = 1;
  auto prefill_ns = [&](std::int64_t heads, std::int64_t kv_heads, std::int64_t head_size) {
    model_shape shape = load_model("llama-3-8b");
    shape.heads = heads;
    shape.kv_heads = kv_heads;
    shape.head_size = head_size;
    cost_model model{profile, shape, 1, sim_time{0}};
    return static_cast<double>(model.iteration(prefill_of(2048, 0)).count());
  };
  const prefill_attention_numbers& numbers = profile.prefill_attention;
  double pairs = 2048 * (2049 / 2.0 + numbers.tile_fixed_keys);
  double compute_ns = 32 * 4.0 * 4096 * pairs / numbers.rate_flop_per_s * 1e9;
  EXPECT_NEAR(prefill_ns(64, 16, 64) - prefill_ns(32, 8, 128), compute_ns * (1 / 0.8 - 1), 2);
  EXPECT_NEAR(prefill_ns(16, 4, 256) - prefill_ns(32, 8, 128), compute_ns * (1 / 1.15 - 1), 2);
}

TEST(cost_model, refuses_a_degree_without_all_reduce_times_naming_the_known_ones) {
  EXPECT_EQ(input_error_of([] { make("h100-sxm", "llama-3-70b", 16); }),
            "hardware.tensor_parallel: h100-sxm has no all-reduce times for 16 GPUs; known "
            "degrees: 1, 2, 4, 8");
  EXPECT_THAT(input_error_of([] { make("rtx-4090", "llama-3-8b", 2); }),
              HasSubstr("known degrees: 1"));
  EXPECT_THAT(input_error_of([] { make("h100-sxm", "qwen2.5-7b", 8); }), HasSubstr("28 heads"));
}

TEST(cost_model, stops_at_an_empty_batch) {
  cost_model model = make("h100-sxm", "llama-3-8b");
  EXPECT_DEATH(model.iteration(batch{}), "sequences >= 1");
  EXPECT_DEATH(model.iteration(prefill_of(0, 16)), "new_tokens >= 1");
}

TEST(decode_line, rounds_to_the_nearest_nanosecond) {
  decode_line line{.base_s = 1e-9, .per_key_s = 0.4e-9};
  EXPECT_EQ(line.at(0).count(), 1);
  EXPECT_EQ(line.at(1).count(), 1);
  EXPECT_EQ(line.at(2).count(), 2);
  EXPECT_EQ(line.at(10).count(), 5);
}

}  // namespace
}  // namespace refrain
