#include "gpu/cpu/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include "gpu/cost_model/cost_model.hpp"
#include "gpu/cpu/cpu_engine.hpp"

namespace refrain {
namespace {

constexpr std::int64_t block_tokens = 16;
constexpr double longest_s = 1.5;  // a batch that takes longer ends its series
constexpr std::size_t rounds = 7;

/// New tokens over cached ones, of one sequence.
struct piece_shape {
  std::int64_t fresh;
  std::int64_t cached;
};
using batch_shape = std::vector<piece_shape>;

/// Batches in series of growing size.
std::vector<std::vector<batch_shape>> series_of_batches() {
  std::vector<std::vector<batch_shape>> all;
  for (std::int64_t cached : {0, 100, 500, 1000, 2000}) {
    std::vector<batch_shape>& series = all.emplace_back();
    for (std::int64_t fresh : {4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 200, 300, 512, 1024}) {
      series.push_back({{fresh, cached}});
    }
  }
  for (std::int64_t keys : {15, 100, 500, 1000, 2000}) {
    std::vector<batch_shape>& series = all.emplace_back();
    for (std::size_t count : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      series.push_back(batch_shape(count, {1, keys}));
    }
  }
  for (std::int64_t fresh : {16, 64, 256}) {
    std::vector<batch_shape>& series = all.emplace_back();
    for (std::size_t count : {1, 4, 16}) {
      for (std::int64_t keys : {100, 1000}) {
        batch_shape mixed(count, {1, keys});
        mixed.insert(mixed.begin(), {fresh, 200});
        series.push_back(std::move(mixed));
      }
    }
  }
  for (std::size_t count : {2, 4}) {
    all.push_back({batch_shape(count, {32, 0}), batch_shape(count, {32, 400}),
                   batch_shape(count, {128, 200})});
  }
  return all;
}

std::int64_t tokens_of(const batch_shape& shape) {
  return std::accumulate(
      shape.begin(), shape.end(), std::int64_t{0}, [](std::int64_t sum, const piece_shape& piece) {
        return sum + (piece.fresh + piece.cached + block_tokens - 1) / block_tokens * block_tokens;
      });
}

/// A batch on sequences of their own. The KV before the new tokens is zeros, which take as long.
class batch_timer {
 public:
  batch_timer(std::shared_ptr<const llama_weights> weights, cpu_precision precision,
              std::int64_t blocks, const std::function<bool()>& goes_on)
      : vocabulary_{weights->shape.vocabulary},
        computing_{std::move(weights), precision, blocks, block_tokens, sim_time{0}, goes_on} {}

  double time(const batch_shape& shape) {
    std::int64_t longest = 0;
    for (const piece_shape& piece : shape) {
      longest = std::max(longest, piece.fresh);
    }
    while (static_cast<std::int64_t>(tokens_.size()) < longest) {
      tokens_.push_back(static_cast<token_id>(
          (static_cast<std::int64_t>(tokens_.size()) * 7919 + 13) % vocabulary_));
    }
    batch work = work_of(shape);
    std::uint32_t next = 0;
    for (const piece_shape& piece : shape) {
      sequence_work& sequence = work.sequences.emplace_back();
      sequence.tokens =
          std::span<const token_id>{tokens_}.first(static_cast<std::size_t>(piece.fresh));
      sequence.cached_tokens = piece.cached;
      sequence.emits = true;
      for (std::int64_t at = 0; at < piece.cached + piece.fresh; at += block_tokens) {
        sequence.blocks.emplace_back(next++);
      }
    }
    // An iteration mostly follows one of its kind, so a short one is timed with warm caches.
    double seconds = to_seconds(computing_.iteration(work));
    for (int i = 0; i < 3 && seconds < 0.02; ++i) {
      seconds = to_seconds(computing_.iteration(work));
    }
    return seconds;
  }

  static batch work_of(const batch_shape& shape) {
    batch work;
    for (const piece_shape& piece : shape) {
      if (piece.fresh == 1) {
        ++work.decodes;
        work.decode_context += piece.cached + 1;
        work.longest_decode_context = std::max(work.longest_decode_context, piece.cached + 1);
      } else {
        work.prefill.push_back({token_count{piece.fresh}, token_count{piece.cached}});
      }
    }
    return work;
  }

 private:
  std::int64_t vocabulary_;
  cpu_engine computing_;
  std::vector<token_id> tokens_;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The numbers that are fitted, as logarithms, and where the search begins.
class fitted_numbers {
 public:
  static Eigen::VectorXd start(double flop_per_s) {
    Eigen::VectorXd x(count);
    x << 1e-6, 1e10, flop_per_s, 1, 1e-6, flop_per_s, 1, 1, 1e-6, 1e10, 1e-8, 1e10;
    return x.array().log().matrix();
  }

  static hardware_profile profile_of(const Eigen::VectorXd& logarithms) {
    Eigen::ArrayXd x = logarithms.array().exp();
    hardware_profile profile;
    profile.gemm = {x[0], x[1], x[2], 1 + x[3]};
    profile.prefill_attention = {.launch_s = x[4],
                                 .bandwidth_bytes_per_s = x[9],
                                 .rate_flop_per_s = x[5],
                                 .sharpness = 1,
                                 .sweep_s_per_key = 0,
                                 .tile_fixed_keys = x[6],
                                 .mixed_rows = x[7],
                                 .tile_rows = 1};
    profile.decode_attention = {x[8], x[9], x[10]};
    profile.elementwise = {0, x[11]};
    return profile;
  }

  static constexpr int count = 12;
};

double formula_s(const hardware_profile& profile, const model_shape& shape, const batch& work) {
  return to_seconds(cost_model{profile, shape, 1, sim_time{0}}.iteration(work));
}

/// What least squares make small: errors of the logarithm of each time, and a weak pull to the
/// start for numbers that no time depends on.
struct residuals {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const std::vector<timed_batch>& times;
  const model_shape& shape;
  Eigen::VectorXd begin;

  int inputs() const { return fitted_numbers::count; }
  int values() const { return static_cast<int>(times.size()) + fitted_numbers::count; }

  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& out) const {
    constexpr double pull = 0.003;
    hardware_profile profile = fitted_numbers::profile_of(x.array().min(60).max(-60).matrix());
    for (std::size_t i = 0; i < times.size(); ++i) {
      out[static_cast<Eigen::Index>(i)] =
          std::log(formula_s(profile, shape, times[i].work) / times[i].seconds);
    }
    out.tail(fitted_numbers::count) = pull * (x - begin);
    return 0;
  }
};

/// FLOPs a second of the largest prefill, linear layers alone.
double rate_of(const std::vector<timed_batch>& times, const model_shape& shape) {
  double best = 1e9;
  for (const timed_batch& each : times) {
    if (!each.work.prefill.empty()) {
      double tokens = static_cast<double>(each.work.prefill.front().new_tokens.get());
      best = std::max(best, 2 * static_cast<double>(shape.parameters) * tokens / each.seconds);
    }
  }
  return best;
}

}  // namespace

std::vector<timed_batch> time_batches(std::shared_ptr<const llama_weights> weights,
                                      cpu_precision precision,
                                      const std::function<bool()>& goes_on) {
  std::vector<std::vector<batch_shape>> all = series_of_batches();
  std::int64_t tokens = 0;
  for (std::vector<batch_shape>& series : all) {
    std::erase_if(series, [&](const batch_shape& shape) {
      return std::ranges::any_of(shape, [&](const piece_shape& piece) {
        return piece.fresh + piece.cached > weights->shape.context;
      });
    });
    for (const batch_shape& shape : series) {
      tokens = std::max(tokens, tokens_of(shape));
    }
  }
  batch_timer timer{std::move(weights), precision, tokens / block_tokens, goes_on};
  std::vector<batch_shape> shapes;
  for (const std::vector<batch_shape>& series : all) {
    for (const batch_shape& shape : series) {
      if (timer.time(shape) > longest_s) {  // also warms up
        break;
      }
      shapes.push_back(shape);
    }
  }
  std::vector<std::vector<double>> seconds(shapes.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (seconds[i].size() < 3 || seconds[i].back() < longest_s / 30) {
        seconds[i].push_back(timer.time(shapes[i]));
      }
    }
  }
  std::vector<timed_batch> times;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    times.push_back({batch_timer::work_of(shapes[i]), median(seconds[i])});
  }
  return times;
}

double time_copies(const kv_layout& layout) {
  const auto blocks = static_cast<std::uint32_t>(
      std::max<std::int64_t>((std::int64_t{64} << 20) / layout.block_bytes(), 2));
  kv_store from{layout, blocks};
  kv_store to{layout, blocks};
  auto copy_all = [&] {
    sim_time begin = thread_time();
    for (std::uint32_t i = 0; i < blocks; ++i) {
      std::ranges::copy(from.block(block_id{i}), to.block(block_id{i}).begin());
    }
    return to_seconds(thread_time() - begin);
  };
  std::memset(from.block(block_id{0}).data(), 1,
              static_cast<std::size_t>(layout.block_bytes()) * blocks);
  copy_all();
  std::vector<double> seconds;
  for (std::size_t i = 0; i < rounds; ++i) {
    seconds.push_back(copy_all());
  }
  return static_cast<double>(layout.block_bytes()) * blocks / median(seconds);
}

hardware_profile fit_profile(const std::vector<timed_batch>& times, const llama_weights& weights,
                             fit_errors& errors) {
  model_shape shape = shape_of(weights);
  Eigen::VectorXd x = fitted_numbers::start(rate_of(times, shape));
  residuals distances{times, shape, x};
  Eigen::NumericalDiff<residuals> differences{distances, 1e-6};  // times are whole nanoseconds
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<residuals>> search{differences};
  search.parameters.maxfev = 20'000;
  search.minimize(x);
  hardware_profile profile = fitted_numbers::profile_of(x);
  profile.not_fitted = {"prefill_attention.bandwidth_bytes_per_s", "prefill_attention.sharpness",
                        "prefill_attention.sweep_s_per_key", "elementwise.launch_s"};
  std::vector<double> off;
  for (const timed_batch& each : times) {
    off.push_back(std::abs(formula_s(profile, shape, each.work) / each.seconds - 1));
  }
  std::ranges::sort(off);
  errors.mean = std::accumulate(off.begin(), off.end(), 0.0) / static_cast<double>(off.size());
  errors.p90 = off[off.size() * 9 / 10];
  errors.worst = off.back();
  return profile;
}

}  // namespace refrain
