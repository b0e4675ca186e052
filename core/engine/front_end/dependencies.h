// What a queued operation waits for. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "asyncgrad/core/engine/front_end/batch.h"
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

  // f as it was when somebody last read it: reading it takes its cache line from the workers. The records from here on
  // are still those of their numbers.
  std::uint64_t oldest_seen() const { return oldest_seen_; }
  std::uint64_t see_oldest() { return oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst); }
  // Whether it is finished as far as can be told: f is asked only where that decides.
  bool is_seen_finished(std::uint64_t number) const {
    return number < oldest_seen_ || ring_.order().is_finished(number);
  }
  // Whether everything is finished that an operation would wait for because of this operand.
  bool is_finished(const OperandRef& ref) {
    const Storage& storage = *ref.impl->storage;
    if (!is_seen_finished(storage.last_writer.load(std::memory_order_relaxed))) return false;
    // The last of several readers may be finished before the others: then this says no too often.
    return ref.access == Access::read || storage.last_reader < oldest_seen_ || storage.last_reader < see_oldest();
  }

  // Room for the edges of an operation with such operands. Throws std::bad_alloc with nothing changed; link() does not
  // throw after it.
  void reserve(std::span<const OperandRef> operands, Batch& batch);
  // Makes the storages of the operands the operation's, which uses them from here on, and links it.
  void link(Operation& operation, std::span<const OperandRef> operands, Batch& batch);
  // Ties the operations of a batch to those that are not in it. Bit i of the result: `first` + i waits for nothing.
  std::uint64_t tie(const Batch& batch);
  // Takes back what the slot's last operation had beyond its record. All of its edges have been followed.
  void recycle(Operation& operation);

  // The ring has been made again.
  void forget();
  std::int64_t edge_bytes() const {
    return static_cast<std::int64_t>(blocks_.size() * edges_in_block * sizeof(FurtherEdge));
  }

 private:
  static constexpr std::size_t edges_in_block = 256;

  std::size_t most_edges(std::span<const OperandRef> operands);
  void depend_on(Operation& operation, std::uint64_t number, Batch& batch);
  void depend_on_readers(Operation& operation, const Storage& storage, Batch& batch);
  void depend_on_issue(Operation& operation, Operation& predecessor);
  void tie(Edge& edge, std::uint64_t predecessor);
  static bool end_linking(Operation& operation);
  Edge& new_edge(Operation& operation);
  FurtherEdge& new_further_edge(Operation& operation);
  void free_edge(FurtherEdge& edge);

  Ring& ring_;
  std::uint64_t oldest_seen_ = 1;
  FurtherEdge* free_edges_ = nullptr;
  std::size_t free_edge_count_ = 0;
  std::vector<std::unique_ptr<FurtherEdge[]>> blocks_;
};

}  // namespace asyncgrad::detail
