#include "tests/core/no_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local bool is_refused = false;

void* take(std::size_t size_bytes, std::size_t alignment_bytes) {
  if (is_refused) return nullptr;
  const std::size_t whole = (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  return std::aligned_alloc(alignment_bytes, whole == 0 ? alignment_bytes : whole);
}
void* take_or_throw(std::size_t size_bytes, std::size_t alignment_bytes) {
  void* const memory = take(size_bytes, alignment_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace asyncgrad::tests {

NoNew::NoNew() { is_refused = true; }
NoNew::~NoNew() { is_refused = false; }

}  // namespace asyncgrad::tests
