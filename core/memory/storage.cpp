#include "asyncgrad/core/memory/storage.h"

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/memory/device_state.h"

namespace asyncgrad::detail {

namespace {

// The last handle and the last use are gone.
inline void end_storage(Storage& storage) {
  if (storage.failure != nullptr) Engine::get().failures().cure(storage);
  DeviceState& device = *storage.device;
  if (storage.data != nullptr) {
    if (storage.size_bytes >= Holders::fewest_bytes) device.holders.remove(storage);
    device.allocator.give_back(storage.data, storage.size_bytes);
    if (device.admission->is_early(storage.taken_by)) {
      Allocator::tell_kept();  // others may take memory in its place at once
      device.admission->give_back(storage.taken_by, storage.size_bytes);
    }
  }
  delete &storage;
}

}  // namespace

void drop_last_handle(Storage& storage) {
  __builtin_prefetch(&storage.held, 1);  // at once to be written: a worker may have had the line last
  const std::int64_t size_bytes = storage.size_bytes, uses = storage.uses;
  DeviceState& device = *storage.device;
  device.serial_live.add(-size_bytes);
  const std::int64_t others = Storage::handles_held - uses;
  if (storage.held.load(std::memory_order_acquire) == others) return end_storage(storage);  // every use has ended
  // Counted before: the last use may end at once.
  device.waiting.add(size_bytes);
  if (storage.held.fetch_sub(others, std::memory_order_acq_rel) != others) return;
  device.waiting.add(-size_bytes);
  end_storage(storage);
}

void drop_use(Storage& storage) {
  // Of the last use, without a handle, nobody else can drop anything, nor add: no need for the dearer instruction.
  if (storage.held.load(std::memory_order_acquire) != 1 && storage.held.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  storage.device->waiting.add(-storage.size_bytes);
  end_storage(storage);
}

}  // namespace asyncgrad::detail
