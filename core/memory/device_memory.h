// The memory of one device. Internal.
#pragma once

#include <atomic>
#include <cstdint>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/memory/allocator.h"
#include "asyncgrad/core/memory/holders.h"
#include "asyncgrad/core/memory/sharded_count.h"

namespace asyncgrad::detail {

class MemorySource;
struct Storage;

// The memory of a device as storages see it, and its figures. It is never destroyed, because tensors with static
// lifetime may outlive everything. The virtual functions notify the engine of the end of a storage.
struct DeviceMemory {
  DeviceMemory(Device of_device, MemorySource& of_source)
      : device(of_device), source(of_source), allocator(of_source) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Called when memory that was taken early (Storage::taken_early) has been returned. Throws nothing.
  virtual void early_memory_returned(std::uint64_t taken_by, std::int64_t size_bytes) noexcept = 0;
  // Called when a storage with a poisoned value ends: gives up its share of Storage::failure. Throws nothing.
  virtual void cure(Storage& storage) noexcept = 0;

  const Device device;
  MemorySource& source;
  ShardedCount serial_live;  // bytes of storages with a handle: what would be live if everything ran at its call
  ShardedCount waiting;      // bytes of storages without a handle that have unfinished uses. A figure
  // The largest serial level that the planner could not lower. Relaxed: a hint.
  std::atomic<std::int64_t> planned_level{0};
  std::atomic<std::int64_t> workspace{0};  // bytes of all threads' scratch. A figure

  alignas(128) Allocator allocator;
  Holders holders;

 protected:
  ~DeviceMemory() = default;
};

}  // namespace asyncgrad::detail
