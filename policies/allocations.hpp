// How often this thread has asked for memory: what shows that a policy allocates nothing once it
// has been made. Counted by the program's own operator new, which is malloc's otherwise. Under
// sanitizers and in fuzzers, which bring theirs, nothing is counted.
#pragma once

#include <cstdint>

namespace refrain {

/// Whether allocations are counted in this build.
bool counts_allocations();

/// What operator new counts in.
extern constinit thread_local std::uint64_t allocations_made;

/// Calls of operator new by this thread so far; 0 where they are not counted.
inline std::uint64_t allocations() {
  return allocations_made;
}

}  // namespace refrain
