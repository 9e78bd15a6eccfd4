// Gamma draws are Marsaglia and Tsang's (ACM TOMS 2000), for shapes below 1 with their power of a
// uniform draw.
#include "traces/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

void require(bool holds, const char* key, const char* expected) {
  if (!holds) {
    throw input_error{std::string{"workload."} + key, expected};
  }
}

/// Processes that draw the gap to the next time.
class drawn_arrivals : public arrival_process {
 public:
  explicit drawn_arrivals(std::uint64_t seed) : random_{seed, "session starts"} {}

  std::optional<sim_time> next() final {
    now_ += from_seconds(std::min(gap(), 9e9));
    require(now_ < sim_time::max() / 2, "sessions_per_second", "makes the run exceed 146 years");
    return now_;
  }

 protected:
  /// Seconds from `now_` to the next time.
  virtual double gap() = 0;

  random_stream random_;
  sim_time now_{0};
};

class poisson final : public drawn_arrivals {
 public:
  poisson(const arrival_settings& s, std::uint64_t seed)
      : drawn_arrivals{seed}, mean_{1 / s.per_second} {}

 private:
  double gap() override { return random_.exponential(mean_); }

  double mean_;
};

class gamma_gaps final : public drawn_arrivals {
 public:
  gamma_gaps(const arrival_settings& s, std::uint64_t seed)
      : drawn_arrivals{seed}, shape_{s.shape}, scale_{1 / (s.per_second * s.shape)} {}

 private:
  double gap() override {
    if (shape_ >= 1) {
      return scale_ * draw(shape_);
    }
    double u = 1 - random_.uniform();
    return scale_ * draw(shape_ + 1) * std::pow(u, 1 / shape_);
  }

  double draw(double shape) {
    double d = shape - 1.0 / 3;
    double c = 1 / std::sqrt(9 * d);
    while (true) {
      double x = random_.normal();
      double v = 1 + c * x;
      v = v * v * v;
      double u = 1 - random_.uniform();
      if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
        return d * v;
      }
    }
  }

  double shape_, scale_;
};

class on_off final : public drawn_arrivals {
 public:
  on_off(const arrival_settings& s, std::uint64_t seed)
      : drawn_arrivals{seed}, settings_{s}, left_{random_.exponential(s.on_seconds)} {}

 private:
  double gap() override {
    double waited = 0;
    while (true) {
      double rate = is_on_ ? settings_.per_second : settings_.off_per_second;
      double wait = rate > 0 ? random_.exponential(1 / rate) : left_;
      if (wait < left_) {
        left_ -= wait;
        return waited + wait;
      }
      waited += left_;
      is_on_ = !is_on_;
      left_ = random_.exponential(is_on_ ? settings_.on_seconds : settings_.off_seconds);
    }
  }

  arrival_settings settings_;
  bool is_on_ = true;
  double left_;  // seconds of this state
};

class diurnal final : public drawn_arrivals {
 public:
  diurnal(const arrival_settings& s, std::uint64_t seed) : drawn_arrivals{seed}, settings_{s} {}

 private:
  double gap() override {
    double most = settings_.per_second * (1 + settings_.amplitude);
    double start = to_seconds(now_), waited = 0;
    while (true) {
      waited += random_.exponential(1 / most);
      double turn = 2 * std::numbers::pi * (start + waited) / settings_.period_seconds;
      double rate = settings_.per_second * (1 + settings_.amplitude * std::sin(turn));
      if (random_.uniform() * most < rate) {
        return waited;
      }
    }
  }

  arrival_settings settings_;
};

class replayed final : public arrival_process {
 public:
  explicit replayed(const arrival_settings& s) : rows_{s.replay()} {}

  std::optional<sim_time> next() override {
    while (rows_->next(row_)) {
      if (row_.turn == 0) {
        latest_ = std::max(latest_, row_.arrival);
        return latest_;
      }
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<source> rows_;
  request row_;
  sim_time latest_{0};
};

void validate(const arrival_settings& s) {
  require(s.per_second >= 1e-6 && s.per_second <= 1e9, "sessions_per_second",
          "must be 1e-6 to 1e9");
  require(s.shape >= 1e-3 && s.shape <= 1e3, "arrivals_shape", "must be 0.001 to 1000");
  require(s.off_per_second >= 0 && s.off_per_second <= 1e9, "off_sessions_per_second",
          "must be 0 to 1e9");
  require(s.on_seconds >= 1e-6 && s.on_seconds <= 1e8, "on_time", "must be 1 us to 1e8 s");
  require(s.off_seconds >= 1e-6 && s.off_seconds <= 1e8, "off_time", "must be 1 us to 1e8 s");
  require(s.amplitude >= 0 && s.amplitude <= 1, "diurnal_amplitude", "must be between 0 and 1");
  require(s.period_seconds >= 1e-3 && s.period_seconds <= 1e9, "diurnal_period",
          "must be 1 ms to 1e9 s");
  require(s.kind != arrival_kind::on_off || s.per_second * s.on_seconds >= 1e-3, "on_time",
          "must be long enough for a thousandth of a session");
  require(s.kind != arrival_kind::replayed || s.replay != nullptr, "replay_path",
          "is missing: the trace whose session starts are replayed");
}

}  // namespace

std::unique_ptr<arrival_process> make_arrivals(const arrival_settings& settings,
                                               std::uint64_t seed) {
  validate(settings);
  switch (settings.kind) {
    case arrival_kind::gamma:
      return std::make_unique<gamma_gaps>(settings, seed);
    case arrival_kind::on_off:
      return std::make_unique<on_off>(settings, seed);
    case arrival_kind::diurnal:
      return std::make_unique<diurnal>(settings, seed);
    case arrival_kind::replayed:
      return std::make_unique<replayed>(settings);
    case arrival_kind::poisson:
      break;
  }
  return std::make_unique<poisson>(settings, seed);
}

}  // namespace refrain
