// Where the memory of a device comes from. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// Addresses are reserved first, and memory is put behind them later. Thread safety: all calls are made under the lock
// of the device's BlockCache. reserve() and back() may throw Error; those of a device that runs on its own,
// DeviceFailed, too.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // The size of a page, a power of two. Memory is put behind whole pages.
  virtual std::int64_t page_bytes() const = 0;
  // Reserves a range of addresses of `size_bytes`, which are whole pages. The range begins at a page. Null: there is
  // none.
  virtual std::byte* reserve(std::int64_t size_bytes) = 0;
  // Puts memory behind a range of whole pages that has none. False: there is none left.
  virtual bool back(std::byte* begin, std::int64_t size_bytes) = 0;
  // Gives the memory behind a range back. Throws nothing. False: the system refused, and the memory is still behind the
  // range.
  virtual bool unback(std::byte* begin, std::int64_t size_bytes) = 0;
};

// The operating system, for devices that compute in the machine's own memory.
MemorySource& host_memory();

}  // namespace asyncgrad::detail
