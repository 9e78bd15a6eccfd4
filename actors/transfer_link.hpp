// The way between two memories in one direction: transfers wait for one of `concurrency` channels,
// set up (latency, and an overhead for each piece they are cut into), and then share the wire one
// after the other. So small pieces are slow, and many small transfers overlap their set-up but not
// their bytes. When a transfer ends is known when it begins.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// How fast a link is.
struct link_speed {
  double bytes_per_s = 1;        ///< above 0
  sim_time latency{0};           ///< before the first byte
  sim_time piece_overhead{0};    ///< for each piece
  byte_count piece{2'097'152};   ///< bytes of a piece, at least 1
  std::int64_t concurrency = 1;  ///< transfers that set up and run at once
};

/// When a transfer has the wire.
struct transfer_times {
  sim_time first_byte{0};
  sim_time end{0};
};

/// One direction of a link.
class transfer_link {
 public:
  transfer_link() : transfer_link{link_speed{}} {}
  explicit transfer_link(const link_speed& speed);

  /// How a transfer of `bytes` that is asked for at `now` would go.
  transfer_times estimate(sim_time now, byte_count bytes) const;
  /// Starts it.
  transfer_times start(sim_time now, byte_count bytes);

 private:
  std::size_t first_free() const;

  link_speed speed_;
  std::vector<sim_time> channels_;  // when each is free
  sim_time wire_{0};                // when the wire is free
};

}  // namespace refrain
