#include "traces/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>
#include <stdexcept>

namespace refrain {

namespace {

struct unit {
  std::string_view name;
  double factor;
};

constexpr std::array<unit, 7> times{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
constexpr std::array<unit, 9> sizes{{{"B", 1},
                                     {"kB", 1e3},
                                     {"MB", 1e6},
                                     {"GB", 1e9},
                                     {"TB", 1e12},
                                     {"KiB", 0x1p10},
                                     {"MiB", 0x1p20},
                                     {"GiB", 0x1p30},
                                     {"TiB", 0x1p40}}};

[[noreturn]] void refuse(std::string_view text, std::string_view expected) {
  throw std::invalid_argument{"\"" + std::string{text} + "\" is not " + std::string{expected}};
}

/// Splits "12.5 ms" into number and unit.
double split(std::string_view text, std::string_view expected, std::string_view& rest) {
  double value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || !std::isfinite(value)) {
    refuse(text, expected);
  }
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' ')) {
    rest.remove_prefix(1);
  }
  return value;
}

double parse(std::string_view text, std::span<const unit> units, std::string_view expected) {
  std::string_view rest;
  double value = split(text, expected, rest);
  if (value < 0) {
    refuse(text, expected);
  }
  if (rest.empty() && value == 0) {
    return 0;
  }
  for (const unit& u : units) {
    if (rest == u.name) {
      return value * u.factor;
    }
  }
  refuse(text, expected);
}

}  // namespace

sim_time parse_duration(std::string_view text) {
  constexpr std::string_view expected = "a time such as \"3s\" (ns, us, ms, s, min, h, d)";
  double seconds = parse(text, times, expected);
  if (seconds > 9e9) {
    refuse(text, "a time below 285 years");
  }
  return sim_time{std::llround(seconds * 1e9)};
}

byte_count parse_bytes(std::string_view text) {
  double bytes =
      parse(text, sizes, "a size such as \"256GiB\" (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)");
  if (bytes > 9e18) {
    refuse(text, "a size below 9e18 bytes");
  }
  return byte_count{std::llround(bytes)};
}

double parse_bandwidth(std::string_view text) {
  constexpr std::string_view expected = "a bandwidth such as \"50GB/s\"";
  if (text == "0") {
    return 0;
  }
  if (!text.ends_with("/s")) {
    refuse(text, expected);
  }
  return parse(text.substr(0, text.size() - 2), sizes, expected);
}

double parse_share(std::string_view text) {
  constexpr std::string_view expected = "a share such as \"90%\" or 0.9";
  std::string_view rest;
  double value = split(text, expected, rest);
  if (rest == "%") {
    value /= 100;
  } else if (!rest.empty()) {
    refuse(text, expected);
  }
  if (value < 0 || value > 1) {
    refuse(text, "a share between 0% and 100%");
  }
  return value;
}

std::string print_duration(double seconds) {
  struct scale {
    double from, factor;
    const char* unit;
  };
  constexpr scale scales[] = {
      {3600, 1.0 / 3600, "h"}, {1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
  double size = std::abs(seconds);
  char text[48];
  for (const scale& s : scales) {
    if (size >= s.from) {
      std::snprintf(text, sizeof text, "%.4g %s", seconds * s.factor, s.unit);
      break;
    }
  }
  return size == 0 ? "0 s" : text;
}

std::string print_bytes(double bytes) {
  constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t i = 0;
  while (std::abs(bytes) >= 1024 && i + 1 < std::size(names)) {
    bytes /= 1024;
    ++i;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, names[i]);
  return text;
}

std::string print_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace refrain
