#include "tests/support/replaced_new.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

void* take(std::size_t size, std::size_t alignment) noexcept {
  if (asyncgrad::tests::is_new_refused()) return nullptr;
  // The size is a whole multiple of the alignment, which callers that ask for an alignment may rely on.
  return memalign(alignment, std::max<std::size_t>(1, (size + alignment - 1) / alignment) * alignment);
}
void* take_or_throw(std::size_t size, std::size_t alignment) {
  if (void* const block = take(size, alignment)) return block;
  throw std::bad_alloc();
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t size) { return take_or_throw(size, usual); }
void* operator new[](std::size_t size) { return take_or_throw(size, usual); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size, usual); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size, usual); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { std::free(block); }
