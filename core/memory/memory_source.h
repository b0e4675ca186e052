// Where the memory of a device comes from. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// Addresses first, memory behind them later. Calls are made under the allocator's lock. reserve() and back() may
// throw Error; those of a device that runs on its own, DeviceFailed, too.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Memory is put behind whole pages of so many bytes, a power of two.
  virtual std::int64_t page_bytes() const = 0;
  // A range of addresses for so many bytes, whole pages, at the beginning of a page. Null: there is none.
  virtual std::byte* reserve(std::int64_t size_bytes) = 0;
  // Puts memory behind a range of whole pages that has none. False: there is none left.
  virtual bool back(std::byte* begin, std::int64_t size_bytes) = 0;
  // Takes it away. Throws nothing. False if the system refused: the memory is still behind the range.
  virtual bool unback(std::byte* begin, std::int64_t size_bytes) = 0;
};

// The operating system, for devices that compute in the machine's own memory.
MemorySource& host_memory();

}  // namespace asyncgrad::detail
