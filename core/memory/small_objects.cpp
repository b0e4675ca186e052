#include "asyncgrad/core/memory/small_objects.h"

#include <algorithm>
#include <new>
#include <utility>

#include "asyncgrad/core/sync/at_thread_end.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

constinit thread_local std::array<SmallObjects::List, SmallObjects::sizes> SmallObjects::lists{};

// The lists that threads pass to each other, of `passed_on` blocks each, or of fewer from a thread that ended. The
// first block of a list links to the next list, so that passing a list on needs no memory.
struct SmallObjects::Shared {
  SpinLock lock;
  std::array<Block*, sizes> lists ASYNCGRAD_GUARDED_BY(lock){};

  void put(List list, std::size_t place) {
    const SpinLockGuard guard(lock);
    list.first->next_list = std::exchange(lists[place], list.first);
    list.first->count = list.count;
  }
  List get(std::size_t place) {
    const SpinLockGuard guard(lock);
    Block* const first = lists[place];
    if (first == nullptr) return {};
    lists[place] = first->next_list;
    return {first, first->count};
  }
};

constinit SmallObjects::Shared SmallObjects::shared{};

void SmallObjects::leave_to_others(void* /*argument*/) {
  for (std::size_t i = 0; i < sizes; ++i) {
    if (lists[i].first != nullptr) shared.put(lists[i], i);
    lists[i] = {};
  }
}

// When the calling thread ends, its blocks are left to others.
void SmallObjects::note_thread() {
  static const AtThreadEnd at_end(&leave_to_others);
  static const bool is_held_at_fork = (ForkLocks::add(shared.lock, ForkLocks::Kind::inner), true);
  static_cast<void>(is_held_at_fork);
  at_end.ask(&lists);
}

void SmallObjects::refill(List& list, std::size_t place) {
  note_thread();
  list = shared.get(place);
  if (list.first != nullptr) return;
  const std::size_t size_bytes = (place + 1) * line_bytes;
  auto* const memory = static_cast<std::byte*>(take_large(passed_on * size_bytes));
  for (std::uint32_t i = passed_on; i-- > 0;) {
    auto* const block = reinterpret_cast<Block*>(memory + i * size_bytes);
    block->next = list.first;
    list.first = block;
  }
  list.count = passed_on;
}

// Passes on, of a long list, the half that was given back last: the thread's cache has lost more of the other half.
void SmallObjects::make_room(List& list, std::size_t place) noexcept {
  if (list.count == 0) return note_thread();
  Block* last = list.first;
  for (std::uint32_t i = 1; i < passed_on; ++i) last = last->next;
  const List rest{last->next, list.count - passed_on};
  last->next = nullptr;
  shared.put({list.first, passed_on}, place);
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
