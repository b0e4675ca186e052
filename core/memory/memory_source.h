// The source of a device's memory. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// Addresses are reserved first, and backed by memory later. Thread safety: all calls are made under the lock of the
// device's BlockCache. reserve() and back() may throw Error; those of a device that runs on its own, DeviceFailed, too.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // The size of a page, a power of two. Only whole pages are backed by memory.
  virtual std::int64_t page_bytes() const = 0;
  // Reserves a range of addresses of `size_bytes`, a multiple of the page size. The range begins at a page. Returns
  // null if there is none.
  virtual std::byte* reserve(std::int64_t size_bytes) = 0;
  // Backs a range of whole pages by memory. Returns false if there is none left.
  virtual bool back(std::byte* begin, std::int64_t size_bytes) = 0;
  // Gives the memory of a range back. Throws nothing. Returns false if the system refused and the range keeps its
  // memory.
  virtual bool unback(std::byte* begin, std::int64_t size_bytes) = 0;
  // For tests: whether each block below a megabyte has pages of its own, and its value ends where they end, in front of
  // addresses without memory, so that accesses beyond the value are seen. The value is then aligned as its type alone
  // asks for. Does not change.
  virtual bool ends_values_at_pages() const { return false; }
  // Of a device with memory of its own: memory of the host from and to which it copies without an intermediate buffer.
  // Null: there is none.
  virtual MemorySource* pinned() { return nullptr; }
};

// The operating system, for devices that compute in the machine's own memory.
MemorySource& host_memory();

}  // namespace asyncgrad::detail
