// libFuzzer's limit on one allocation needs a sanitizer's hooks. Without them this stands in for
// it: an input that asks for more than any accepted one needs ends the program at once, whoever
// might catch std::bad_alloc.
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t bytes_max = 600'000'000;

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > bytes_max) {
    std::fprintf(stderr, "libFuzzer: out of proportion: %zu bytes at once\n", bytes);
    std::abort();
  }
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) {
    return memory;
  }
  std::abort();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
