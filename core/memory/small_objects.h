// Memory for the library's own small objects: tensors, storages, nodes of the tape. Internal.
//
// Front ends make them and workers end them, thousands at a time. The system's allocator would take a lock for each.
// Here a thread keeps lists of free blocks, one for each size. A thread whose list grows long passes part of it on to
// threads that run short. Blocks are never given back to the system: there are as many as objects lived at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

class SmallObjects {
 public:
  // A block of at least `size_bytes`, which is not 0; the block is 64-byte aligned. Throws std::bad_alloc. Any thread
  // may call it.
  static void* take(std::size_t size_bytes) {
    if (size_bytes > max_bytes) return take_large(size_bytes);
    List& list = lists[place(size_bytes)];
    Block* const block = list.first;
    if (block == nullptr) return refill_and_take(size_bytes);
    list.first = block->next;
    --list.count;
    prefetch(list.first, size_bytes);  // another thread may have had it last
    return block;
  }
  // Gives back a block that was taken with the same size. Any thread may call it, not only the one that took the block.
  static void give_back(void* memory, std::size_t size_bytes) noexcept {
    if (size_bytes > max_bytes) return give_back_large(memory);
    List& list = lists[place(size_bytes)];
    if (list.count - 1 >= 2 * passed_on - 1) return make_room_and_put(memory, size_bytes);  // none, or many
    put(list, memory);
  }

 private:
  // Under the address sanitizer every object is the system's, so that a use after its end is found.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t max_bytes = 0;
#else
  static constexpr std::size_t max_bytes = 512;
#endif
  static constexpr std::size_t line_bytes = 64, sizes = 8;
  static constexpr std::uint32_t passed_on = 32;  // blocks that threads pass on together

  struct Block {
    Block* next;
    // These are set only in the first block of a list that is passed on to other threads.
    Block* next_list;
    std::uint32_t count;
  };
  // A list of the calling thread.
  struct List {
    Block* first;
    std::uint32_t count;
  };
  struct Shared;

  static void prefetch(const Block* block, std::size_t size_bytes) {
    if (block == nullptr) return;
    const auto* const bytes = reinterpret_cast<const std::byte*>(block);
    for (std::size_t line = 0; line < size_bytes; line += line_bytes) __builtin_prefetch(bytes + line, 1);
  }
  static std::size_t place(std::size_t size_bytes) { return (size_bytes - 1) / line_bytes; }
  static void put(List& list, void* memory) {
    auto* const block = static_cast<Block*>(memory);
    block->next = list.first;
    list.first = block;
    ++list.count;
  }
  static void* refill_and_take(std::size_t size_bytes);
  static void make_room_and_put(void* memory, std::size_t size_bytes) noexcept;
  static void refill(List& list, std::size_t place);
  static void make_room(List& list, std::size_t place) noexcept;
  static void note_thread();
  static void leave_to_others(void* argument);
  static void* take_large(std::size_t size_bytes);
  static void give_back_large(void* memory) noexcept;

  static Shared shared;
  static constinit thread_local std::array<List, sizes> lists;
};

// For containers that ask for one small element or more at a time, such as std::map.
template <class T>
struct SmallObjectAllocator {
  using value_type = T;

  SmallObjectAllocator() = default;
  template <class U>
  SmallObjectAllocator(const SmallObjectAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as containers want it
  T* allocate(std::size_t count) { return static_cast<T*>(SmallObjects::take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { SmallObjects::give_back(memory, count * sizeof(T)); }
  friend bool operator==(SmallObjectAllocator, SmallObjectAllocator) { return true; }
};

}  // namespace asyncgrad::detail
