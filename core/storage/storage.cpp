#include "asyncgrad/core/storage/storage.h"

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/storage/device_state.h"

namespace asyncgrad::detail {

namespace {

// The last handle and the last use are gone.
void end(Storage& storage) {
  if (storage.failure != nullptr) Engine::get().failures().cure(storage);
  DeviceState& device = *storage.device;
  if (storage.data != nullptr) {
    device.allocator.give_back(storage.data, storage.size_bytes);
    device.admission->give_back(storage.taken_by, storage.size_bytes);
  }
  delete &storage;
}

}  // namespace

Storage* make_storage(std::int64_t size_bytes, DeviceState& device) {
  const std::int64_t rounded = rounded_bytes(size_bytes);
  device.serial_live.fetch_add(rounded, std::memory_order_relaxed);
  return new Storage{
      .references = Storage::one_handle, .size_bytes = rounded, .value_bytes = size_bytes, .device = &device};
}

// Relaxed: whoever adds holds a handle already.
void add_handle(Storage& storage) { storage.references.fetch_add(Storage::one_handle, std::memory_order_relaxed); }
void add_use(Storage& storage) { storage.references.fetch_add(Storage::one_use, std::memory_order_relaxed); }

void drop_handle(Storage& storage) {
  const std::int64_t size_bytes = storage.size_bytes;
  DeviceState& device = *storage.device;
  // Acquire-release: all use of the storage, on any thread, comes before its end.
  const std::uint64_t before = storage.references.fetch_sub(Storage::one_handle, std::memory_order_acq_rel);
  if (before >> 32 != 1) return;
  device.serial_live.fetch_sub(size_bytes, std::memory_order_relaxed);
  if (before == Storage::one_handle) {
    end(storage);
  } else {
    // The last use may end before this line: then the figure is off for an instant.
    device.waiting.fetch_add(size_bytes, std::memory_order_relaxed);
  }
}

void drop_use(Storage& storage) {
  const std::int64_t size_bytes = storage.size_bytes;
  DeviceState& device = *storage.device;
  if (storage.references.fetch_sub(Storage::one_use, std::memory_order_acq_rel) != Storage::one_use) return;
  device.waiting.fetch_sub(size_bytes, std::memory_order_relaxed);
  end(storage);
}

}  // namespace asyncgrad::detail
