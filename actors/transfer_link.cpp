#include "actors/transfer_link.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "traces/error.hpp"

namespace refrain {

transfer_link::transfer_link(const link_speed& speed)
    : speed_{speed}, channels_(static_cast<std::size_t>(speed.concurrency)) {
  REFRAIN_ASSERT(speed.bytes_per_s > 0 && speed.piece > 0 && speed.concurrency > 0);
}

std::size_t transfer_link::first_free() const {
  return static_cast<std::size_t>(std::min_element(channels_.begin(), channels_.end()) -
                                  channels_.begin());
}

transfer_times transfer_link::estimate(sim_time now, byte_count bytes) const {
  sim_time begin = std::max(now, channels_[first_free()]);
  std::int64_t pieces = (bytes + speed_.piece - 1) / speed_.piece;
  double seconds = static_cast<double>(pieces) * to_seconds(speed_.piece_overhead) +
                   static_cast<double>(bytes) / speed_.bytes_per_s;
  if (seconds > 1e9) {
    throw run_error{"a transfer of " + std::to_string(bytes.get()) + " bytes takes " +
                    std::to_string(std::llround(seconds)) +
                    " s; raise the bandwidth or piece, or lower overhead"};
  }
  sim_time ready = begin + speed_.latency + pieces * speed_.piece_overhead;
  sim_time first = std::max(ready, wire_);
  return {first, first + from_seconds(static_cast<double>(bytes) / speed_.bytes_per_s)};
}

transfer_times transfer_link::start(sim_time now, byte_count bytes) {
  transfer_times times = estimate(now, bytes);
  channels_[first_free()] = times.end;
  wire_ = times.end;
  return times;
}

}  // namespace refrain
