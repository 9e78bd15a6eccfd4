// The two ways to fail: bad input, which the user can mend, and programmer errors, which stop the
// program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace refrain {

/// Bad input, found before virtual time starts: exit status 2. `where` names a file and line or a
/// key.
class input_error : public std::runtime_error {
 public:
  input_error(const std::string& where, const std::string& what_is_wrong)
      : std::runtime_error{where + ": " + what_is_wrong} {}
};

/// A run that cannot go on: exit status 1.
class run_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The candidate closest to `name` by edit distance, or nothing when none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "unknown KIND "NAME"; did you mean "X"?" or, when nothing is near, the list of all candidates.
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> candidates);

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace refrain

/// A programmer error when false, in every build.
#define REFRAIN_ASSERT(condition) \
  ((condition) ? void(0) : ::refrain::assertion_failed(#condition, __FILE__, __LINE__))

/// Checks too dear for a release: conservation at every event.
#ifdef REFRAIN_DEBUG_CHECKS
inline constexpr bool refrain_debug_checks = true;
#else
inline constexpr bool refrain_debug_checks = false;
#endif
