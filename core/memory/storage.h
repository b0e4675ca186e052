// The bytes behind tensors, and what the engine knows about them. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/backend/view.h"
#include "asyncgrad/core/memory/small_objects.h"

namespace asyncgrad::detail {

struct Contents;  // how a value may be computed again: autograd's
struct DeviceMemory;
struct Failure;  // why a value could not be computed: the engine's

// What the program uses a storage for, for reports.
enum class StorageUse : std::uint8_t { other, parameter, optimizer_state };

// One block of memory on one device. Counts its handles (tensors, tape) and its uses (operands of queued operations)
// apart: the handles decide what would be live if everything ran at its call, both together how long it really lives.
//
// The front end makes a storage without memory (data == null). The first operation that writes it takes the memory when
// it starts. The storage ends when the last handle and the last use are gone, on the thread that drops them.
//
// The members that front ends write and those that workers write lie on separate cache lines, because both write all
// the time. For this reason uses are counted twice: queued ones among the front ends' members, ended ones among the
// workers'. Only the thread that drops the last handle combines both counts.
struct Storage {
  // --- Members that front ends write. ---
  // Relaxed to add: the thread already holds a handle. Acquire-release to drop: the last thread sees what all others
  // did.
  alignas(64) std::atomic<std::int32_t> handles{1};
  // For the tape; relaxed, because only front ends use them. `version` counts writes; `history_version` is its value
  // after the last recorded write.
  std::atomic<std::uint32_t> version{0}, history_version{0};
  int last_reader_operand = 0;  // see last_reader
  // Under the front end's lock: the number of queued uses, the youngest operation that writes, the youngest reader
  // since.
  std::int64_t uses = 0;
  std::atomic<std::uint64_t> last_writer{0};  // relaxed: a wait reads it without the lock, in its own thread's order
  std::uint64_t last_reader = 0;
  // A poisoned storage is in the list of all poisoned storages, under the lock of Failures. The links are here because
  // this line has room.
  Storage* poisoned_before = nullptr;
  Storage* poisoned_after = nullptr;
  // What the planner knows of the value, see planner.h; null: nothing. Written under the planner's lock. Release,
  // acquire: a thread that reads null may end the storage.
  std::atomic<Contents*> contents{nullptr};

  // --- Members that workers write. ---
  // While there is a handle: `handle_share` minus the uses that have ended. The last handle takes its share away and
  // adds `uses`: from then on this counts the uses that remain, and the storage ends at 0.
  // Acquire-release: all uses of the storage, on any thread, happen before its end.
  alignas(64) std::atomic<std::int64_t> remaining{handle_share};
  std::byte* data = nullptr;  // written by the operation that first writes; dependencies order its readers
  std::int64_t size_bytes;    // as counted: rounded up by rounded_bytes
  std::int64_t value_bytes;   // as asked for: a write of fewer is not a whole one
  DeviceMemory* device;
  std::uint64_t taken_by = 0;  // the operation that took the memory; as `data`
  // Not null: the value is poisoned. Written under the lock of Failures. Release, acquire: a thread that reads null may
  // end the storage.
  std::atomic<Failure*> failure{nullptr};
  bool has_value = false;      // an operation has written it; as `data`
  bool bytes_are_old = false;  // poisoned, but the bytes are those of the value before: recover() restores them; under
                               // the lock of Failures
  bool is_lost = false;        // poisoned when recover() was called, and so for good; under the lock of Failures
  bool is_foreign = false;     // the memory is the program's, see foreign.h
  bool is_pinned = false;      // the memory is pinned, see Allocator::use_pinned(); before the memory is taken
  std::atomic<bool> is_exposed{false};             // the program may write the values without an operation; relaxed
  std::atomic<StorageUse> use{StorageUse::other};  // relaxed: for reports alone
  bool taken_early = false;  // its memory, ahead of older operations: admission is notified of its return; as `data`

  bool is_poisoned() const { return failure.load(std::memory_order_acquire) != nullptr; }

  static constexpr std::int64_t handle_share = std::int64_t{1} << 62;

  static void* operator new(std::size_t size) { return SmallObjects::take(size); }
  static void operator delete(void* memory, std::size_t size) { SmallObjects::give_back(memory, size); }
};

// Whether a value of that shape and type is all that the storage holds.
inline bool fills(const Storage& storage, const Shape& shape, DType dtype) {
  return value_bytes(shape, dtype) == storage.value_bytes;
}

// Sizes are counted in whole cache lines, the same in every figure.
constexpr std::int64_t rounded_bytes(std::int64_t bytes) { return rounded_up(bytes, 64); }

// `counted`: whether `handles` still counts the last handle.
void drop_last_handle(Storage& storage, bool counted);

inline void add_handle(Storage& storage) { storage.handles.fetch_add(1, std::memory_order_relaxed); }
inline void drop_handle(Storage& storage) {
  // If one handle is left, it is the caller's, and no other thread can add one, unless there are contents, see
  // Planner::lets_go(): a plain load is enough.
  if (storage.handles.load(std::memory_order_acquire) == 1) {
    drop_last_handle(storage, true);
  } else if (storage.handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    drop_last_handle(storage, false);
  }
}

// Both are called under the front end's lock, by a thread that holds a handle.
inline void note_write(Storage& storage) {
  storage.version.store(storage.version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline void add_use(Storage& storage) { ++storage.uses; }
void drop_use(Storage& storage);
// The storage never ends, because something outside of the engine may still write to its memory. The caller has a use of
// it.
void keep_for_good(Storage& storage);
// Whether a handle exists at this moment. The caller has a use of the storage.
inline bool has_handle(const Storage& storage) {
  return storage.remaining.load(std::memory_order_acquire) > Storage::handle_share / 2;
}

}  // namespace asyncgrad::detail
