#include "policies/allocations.hpp"

namespace refrain {

constinit thread_local std::uint64_t allocations_made = 0;

}  // namespace refrain

#ifdef REFRAIN_COUNT_ALLOCATIONS
#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

/// What operator new must do when `take` finds no memory: ask the handler for some, or give up.
template <class Take>
void* obtain(Take take) {
  ++refrain::allocations_made;
  for (;;) {
    if (void* memory = take()) {
      return memory;
    }
    std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) {
      throw std::bad_alloc{};
    }
    handler();
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  return obtain([bytes] { return std::malloc(std::max<std::size_t>(bytes, 1)); });
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  auto align = static_cast<std::size_t>(alignment);
  std::size_t rounded = (std::max<std::size_t>(bytes, 1) + align - 1) / align * align;
  return obtain([=] { return std::aligned_alloc(align, rounded); });
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace refrain {

bool counts_allocations() {
  return true;
}

}  // namespace refrain

#else

namespace refrain {

bool counts_allocations() {
  return false;
}

}  // namespace refrain

#endif
