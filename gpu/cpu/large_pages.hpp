// Memory for packed weights: large pages where the operating system has them, since a pass over all
// weights through pages of 4 kB takes up to a fifth longer.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>

namespace refrain {

/// Maps memory in pages of 2 MiB where possible; meant as the source of a
/// monotonic_buffer_resource.
std::pmr::memory_resource& large_pages();

/// `count` values from `memory`, zero, starting at a cache line; they live as long as `memory`.
template <class T>
std::span<T> take_lines(std::pmr::memory_resource& memory, std::size_t count) {
  auto* first = static_cast<T*>(memory.allocate(count * sizeof(T), 64));
  std::uninitialized_value_construct_n(first, count);
  return {first, count};
}

}  // namespace refrain
