// Nodes of containers, which are allocated beforehand. Internal.
#pragma once

#include <cstddef>
#include <new>

#include "asyncgrad/core/memory/small_objects.h"

namespace asyncgrad::detail {

// Memory for the nodes of std::map and std::set, so that an insertion that must not fail finds what was reserved for
// it. Nodes that are given back are spare again. Not thread-safe; lives longer than its containers.
class NodePool {
 public:
  NodePool() = default;
  NodePool(const NodePool&) = delete;
  NodePool& operator=(const NodePool&) = delete;
  ~NodePool() {
    while (first_ != nullptr) SmallObjects::give_back(pop(), node_bytes);
  }

  // At least `count` nodes are spare afterwards. Throws std::bad_alloc.
  void reserve(std::size_t count) {
    while (spare_ < count) push(SmallObjects::take(node_bytes));
  }
  std::size_t spare() const { return spare_; }

  // The allocator for containers, each of which asks for one node at a time.
  template <class T>
  struct Allocator {
    using value_type = T;

    explicit Allocator(NodePool& of_pool) : pool(&of_pool) {}
    template <class U>
    Allocator(const Allocator<U>& other) : pool(other.pool) {}  // NOLINT(google-explicit-constructor): as they want it
    T* allocate(std::size_t /*count*/) {
      static_assert(sizeof(T) <= node_bytes);
      pool->reserve(1);
      return static_cast<T*>(pool->pop());
    }
    void deallocate(T* node, std::size_t /*count*/) noexcept { pool->push(node); }
    friend bool operator==(Allocator a, Allocator b) { return a.pool == b.pool; }

    NodePool* pool;
  };

 private:
  static constexpr std::size_t node_bytes = 64;
  struct Node {
    Node* next;
  };

  void push(void* memory) noexcept {
    first_ = new (memory) Node{first_};
    ++spare_;
  }
  void* pop() noexcept {
    Node* const node = first_;
    first_ = node->next;
    --spare_;
    return node;
  }

  Node* first_ = nullptr;
  std::size_t spare_ = 0;
};

}  // namespace asyncgrad::detail
