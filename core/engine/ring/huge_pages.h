// Memory for large arrays that are read from end to end again and again. Internal.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// An allocator for containers. For 2 MiB or more it asks the system for pages of that size, because a processor caches
// the addresses of fewer small pages than such memory has. The system may refuse.
template <class T>
struct HugePages {
  using value_type = T;

  T* allocate(std::size_t count) {
    const std::size_t size_bytes = count * sizeof(T);
    if (size_bytes < page_bytes) return static_cast<T*>(::operator new(size_bytes, alignment_of(count)));
    const std::size_t whole_bytes = rounded_up(size_bytes, page_bytes);
    void* const memory = ::operator new(whole_bytes, alignment_of(count));
    madvise(memory, whole_bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept { ::operator delete(memory, alignment_of(count)); }
  bool operator==(const HugePages&) const = default;

 private:
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  static std::align_val_t alignment_of(std::size_t count) {
    return std::align_val_t{count * sizeof(T) < page_bytes ? alignof(T) : page_bytes};
  }
};

}  // namespace asyncgrad::detail
