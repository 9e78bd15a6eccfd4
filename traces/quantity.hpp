// Quantities with units, as people write them: "3s", "1ms", "256GiB", "50GB/s", "90%". A number
// without a unit is refused where a unit is due, except 0.
#pragma once

#include <string>
#include <string_view>

#include "traces/integers.hpp"

namespace refrain {

/// Parses a time: ns, us, ms, s, min, h, d. Throws std::invalid_argument saying what was expected.
sim_time parse_duration(std::string_view text);
/// Parses bytes: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024). Throws as
/// above.
byte_count parse_bytes(std::string_view text);
/// Parses bytes a second: any size unit followed by "/s". Throws as above.
double parse_bandwidth(std::string_view text);
/// Parses a share: "90%" or a plain number from 0 to 1. Throws as above.
double parse_share(std::string_view text);

/// A time for people: three significant digits and the unit that fits.
std::string print_duration(double seconds);
/// Bytes for people: three significant digits and a binary unit.
std::string print_bytes(double bytes);
/// A count for people, in groups of three digits.
std::string print_count(std::int64_t count);

}  // namespace refrain
