// The dependencies of queued operations. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "asyncgrad/core/engine/front_end/staged_operations.h"
#include "asyncgrad/core/engine/ring/ring.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// Finds the operations that an operation depends on and puts it into their lists of successors. A read waits for the
// last write of the storage; a write waits for the last write and for every read since.
//
// Thread safety: under the front end's lock.
class Dependencies {
 public:
  explicit Dependencies(Ring& ring) : ring_(ring) {}

  // f as it was when the front end last read it, because reading it takes its cache line from the workers. The entries
  // from here on still belong to their numbers.
  std::uint64_t oldest_seen() const { return oldest_seen_; }
  std::uint64_t see_oldest() { return oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst); }
  // Whether the operation is known to be finished. Reads f itself only if oldest_seen() does not decide.
  bool is_seen_finished(std::uint64_t number) const {
    return number < oldest_seen_ || ring_.order().is_finished(number);
  }
  // Whether everything is finished that this operand would make an operation wait for.
  bool is_finished(const OperandRef& ref) {
    const Storage& storage = *ref.impl->storage;
    if (!is_seen_finished(storage.last_writer.load(std::memory_order_relaxed))) return false;
    // False in some cases in which nothing is left to wait for: the last of several readers may finish before the
    // others.
    return ref.access == Access::read || storage.last_reader < oldest_seen_ || storage.last_reader < see_oldest();
  }

  // Makes room for the edges of an operation with these operands. Throws std::bad_alloc with nothing changed. After it,
  // link() does not throw.
  void reserve(std::span<const OperandRef> operands, StagedOperations& staged);
  // Registers the operation as a user of its operands' storages, and links it to its predecessors.
  void link(Operation& operation, std::span<const OperandRef> operands, StagedOperations& staged);
  // Ties staged operations to those that are not staged. Bit i of the result: `first` + i waits for nothing.
  std::uint64_t tie(const StagedOperations& staged);
  // Releases the edges and the space that the slot's last operation had beside its entry. All of its edges have been
  // followed.
  void recycle(Operation& operation);

  // Marks an operation and all unfinished ones that it depends on as awaited; none of them is staged. If they are
  // hundreds, it marks nothing and returns false: then the wait is long, and it is the plain order that serves it.
  bool mark_needed(std::uint64_t number);

  // Forgets all edges. Called when the ring has new entries.
  void forget();
  std::int64_t edge_bytes() const {
    return static_cast<std::int64_t>(blocks_.size() * edges_in_block * sizeof(FurtherEdge));
  }

 private:
  static constexpr std::size_t edges_in_block = 256;

  std::size_t max_edges(std::span<const OperandRef> operands);
  void depend_on(Operation& operation, std::uint64_t number, StagedOperations& staged);
  void depend_on_readers(Operation& operation, const Storage& storage, StagedOperations& staged);
  void depend_on_issue(Operation& operation, Operation& predecessor);
  void tie(Edge& edge, std::uint64_t predecessor);
  static bool end_linking(Operation& operation);
  Edge& new_edge(Operation& operation, std::uint64_t predecessor);
  FurtherEdge& new_further_edge(Operation& operation, std::uint64_t predecessor);
  void free_edge(FurtherEdge& edge);

  Ring& ring_;
  std::uint64_t oldest_seen_ = 1;
  FurtherEdge* free_edges_ = nullptr;
  std::size_t free_edge_count_ = 0;
  std::vector<std::unique_ptr<FurtherEdge[]>> blocks_;
};

}  // namespace asyncgrad::detail
