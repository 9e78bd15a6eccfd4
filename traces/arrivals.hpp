// When sessions start: five processes. Poisson and gamma renewal processes, a rate that switches
// between two levels (a Markov-modulated Poisson process of two states), a rate that follows a sine
// over the day (by thinning, Lewis and Shedler 1979), and the starts of a recorded trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "traces/integers.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Which process.
enum class arrival_kind : std::uint8_t { poisson, gamma, on_off, diurnal, replayed };

/// Parameters of every process; each reads its own.
struct arrival_settings {
  arrival_kind kind = arrival_kind::poisson;
  double per_second = 1;  ///< mean rate, on_off: the rate while on; 1e-6 to 1e9
  double shape = 1;       ///< gamma: of the gaps; 1 is Poisson, below 1 is burstier; 1e-3 to 1e3
  double off_per_second = 0;       ///< on_off: the rate while off; 0 to 1e9
  double on_seconds = 60;          ///< on_off: mean time on; the process begins on
  double off_seconds = 60;         ///< on_off: mean time off
  double amplitude = 0.5;          ///< diurnal: rate x (1 + amplitude sin(2 pi t / period)); 0 to 1
  double period_seconds = 86'400;  ///< diurnal
  std::function<std::unique_ptr<source>()> replay = nullptr;  ///< replayed: whose starts to take
};

/// A sequence of times that do not fall.
class arrival_process {
 public:
  virtual ~arrival_process() = default;
  /// The next time; nothing at the end of a replayed trace.
  virtual std::optional<sim_time> next() = 0;
};

/// Makes a process; it draws from the stream "session starts". Throws input_error naming
/// "workload.KEY" for parameters out of range.
std::unique_ptr<arrival_process> make_arrivals(const arrival_settings& settings,
                                               std::uint64_t seed);

}  // namespace refrain
