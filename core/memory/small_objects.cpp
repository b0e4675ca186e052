#include "asyncgrad/core/memory/small_objects.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "asyncgrad/core/sync/sync.h"

namespace asyncgrad::detail {

constinit thread_local std::array<SmallObjects::List, SmallObjects::sizes> SmallObjects::lists{};

// What threads pass to each other: lists of blocks, each a batch or, from a thread that ended, shorter.
struct SmallObjects::Shared {
  SpinLock lock;  // over everything below
  std::array<std::vector<List>, sizes> batches;

  void put(List list, std::size_t place) {
    const std::lock_guard guard(lock);
    batches[place].push_back(list);
  }
  List get(std::size_t place) {
    const std::lock_guard guard(lock);
    if (batches[place].empty()) return {};
    const List list = batches[place].back();
    batches[place].pop_back();
    return list;
  }
};

SmallObjects::Shared& SmallObjects::shared() {
  static Shared* const shared = new Shared;  // never destroyed: threads may end after main
  return *shared;
}

// The calling thread's blocks, when it ends.
void SmallObjects::leave_to_heirs() {
  struct Heir {
    ~Heir() {
      for (std::size_t i = 0; i < sizes; ++i) {
        if (lists[i].first != nullptr) shared().put(lists[i], i);
        lists[i] = {};
      }
    }
  };
  thread_local Heir heir;
  static_cast<void>(heir);
}

void SmallObjects::refill(List& list, std::size_t place) {
  leave_to_heirs();
  list = shared().get(place);
  if (list.first != nullptr) return;
  const std::size_t size_bytes = (place + 1) * line_bytes;
  auto* const memory = static_cast<std::byte*>(take_large(batch * size_bytes));
  for (std::uint32_t i = batch; i-- > 0;) {
    auto* const block = reinterpret_cast<Block*>(memory + i * size_bytes);
    block->next = list.first;
    list.first = block;
  }
  list.count = batch;
}

// Of many, passes on the half that was given back last: of the other half the thread's cache has lost more.
void SmallObjects::make_room(List& list, std::size_t place) noexcept {
  if (list.count == 0) return leave_to_heirs();
  Block* last = list.first;
  for (std::uint32_t i = 1; i < batch; ++i) last = last->next;
  const List rest{last->next, list.count - batch};
  last->next = nullptr;
  shared().put({list.first, batch}, place);
  list = rest;
}

void* SmallObjects::refill_and_take(std::size_t size_bytes) {
  refill(lists[place(size_bytes)], place(size_bytes));
  return take(size_bytes);
}

void SmallObjects::make_room_and_put(void* memory, std::size_t size_bytes) noexcept {
  make_room(lists[place(size_bytes)], place(size_bytes));
  put(lists[place(size_bytes)], memory);
}

void* SmallObjects::take_large(std::size_t size_bytes) {
  return ::operator new (size_bytes, std::align_val_t{line_bytes});
}

void SmallObjects::give_back_large(void* memory) noexcept { ::operator delete (memory, std::align_val_t{line_bytes}); }

}  // namespace asyncgrad::detail
