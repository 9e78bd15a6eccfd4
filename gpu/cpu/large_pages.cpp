#include "gpu/cpu/large_pages.hpp"

#include <sys/mman.h>

#include <new>

#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::size_t page = std::size_t{2} << 20;

std::size_t mapped_size(std::size_t size) {
  return (size + page - 1) / page * page;
}

class large_page_resource final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    REFRAIN_ASSERT(alignment <= page);
    void* memory = ::operator new (mapped_size(size), std::align_val_t{page});
    madvise(memory, mapped_size(size), MADV_HUGEPAGE);  // a wish: without it the pages are small
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override {
    ::operator delete (memory, std::align_val_t{page});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource& large_pages() {
  static large_page_resource resource;
  return resource;
}

}  // namespace refrain
