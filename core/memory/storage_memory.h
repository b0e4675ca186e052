// The memory of a storage's value. Internal.
#pragma once

#include <cstddef>

#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

// Throws std::bad_alloc if there is none left, and what the source of pinned memory throws.
inline std::byte* take_memory_for(const Storage& storage) {
  Allocator& allocator = storage.device->allocator;
  return storage.is_pinned ? allocator.take_pinned(storage.size_bytes)
                           : allocator.take_for(storage.value_bytes, storage.size_bytes);
}

// What take_memory_for() has returned is storage.data.
inline void give_back_memory_of(const Storage& storage) noexcept {
  Allocator& allocator = storage.device->allocator;
  storage.is_pinned ? allocator.give_back_pinned(storage.data, storage.size_bytes)
                    : allocator.give_back_of(storage.data, storage.value_bytes, storage.size_bytes);
}

}  // namespace asyncgrad::detail
