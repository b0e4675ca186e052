#include "asyncgrad/core/memory/storage.h"

#include "asyncgrad/core/memory/abandoned.h"
#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/memory/foreign.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/memory/storage_memory.h"

namespace asyncgrad::detail {

namespace {

// Called when the last handle and the last use are gone.
void end_storage(Storage& storage) {
  DeviceMemory& device = *storage.device;
  if (storage.is_poisoned()) device.cure(storage);
  if (storage.size_bytes >= Holders::min_bytes) device.holders.remove(storage);
  if (storage.is_foreign) {
    foreign::end(storage);
  } else if (storage.data != nullptr) {
    // The memory is counted as returned before admission lets other operations take memory in its place.
    give_back_memory_of(storage);
    if (storage.taken_early) device.early_memory_returned(storage.taken_by, storage.size_bytes);
  }
  delete &storage;
}

}  // namespace

// Memory is returned before the serial level falls, so that a thread that reads the lower level takes memory after
// that. Storages that unfinished operations still use are part of those operations' serial levels.
void drop_last_handle(Storage& storage, bool counted) {
  if (storage.contents.load(std::memory_order_acquire) != nullptr && !Planner::get()->lets_go(storage, counted)) return;
  __builtin_prefetch(&storage.remaining, 1);  // written soon; a worker may have had the line last
  const std::int64_t size_bytes = storage.size_bytes, uses = storage.uses;
  DeviceMemory& device = *storage.device;
  const std::int64_t others = Storage::handle_share - uses;
  if (storage.remaining.load(std::memory_order_acquire) == others) {  // every use has ended
    end_storage(storage);
  } else {
    // The bytes are counted as waiting first, because the last use may end at once.
    device.waiting.add(size_bytes);
    if (storage.remaining.fetch_sub(others, std::memory_order_acq_rel) == others) {
      device.waiting.add(-size_bytes);
      end_storage(storage);
    }
  }
  device.serial_live.add(-size_bytes);
  if (Planner* const planner = Planner::get()) planner->tidy();
}

bool expose(Storage& storage) {
  if (storage.is_exposed.load(std::memory_order_relaxed)) return false;
  if (Planner* const planner = Planner::get()) return planner->expose(storage);
  storage.is_exposed.store(true, std::memory_order_relaxed);
  return false;
}

// As if it had one more use, which never ends.
void keep_for_good(Storage& storage) {
  storage.remaining.fetch_add(1, std::memory_order_relaxed);
  note_abandoned(&storage);
}

void drop_use(Storage& storage) {
  // If this is the last use and there is no handle, no other thread can drop or add a use: a plain load is enough.
  if (storage.remaining.load(std::memory_order_acquire) != 1 &&
      storage.remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  storage.device->waiting.add(-storage.size_bytes);
  end_storage(storage);
}

}  // namespace asyncgrad::detail
