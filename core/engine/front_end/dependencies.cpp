#include "asyncgrad/core/engine/front_end/dependencies.h"

#include <bit>

#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

// Puts an edge into a list. False if the list is closed. Acquire: what a closed list stands for is there. Release: the
// edge, and the successor's record, are seen whole.
bool push(std::atomic<Edge*>& list, Edge& edge) {
  Edge* first = list.load(std::memory_order_acquire);
  do {
    if (first == closed_list()) return false;
    edge.next = first;
  } while (!list.compare_exchange_weak(first, &edge, std::memory_order_release, std::memory_order_acquire));
  return true;
}

}  // namespace

void Dependencies::reserve(std::span<const OperandRef> operands, Batch& batch) {
  const std::size_t edges = most_edges(operands);
  batch.reserve(edges);
  while (free_edge_count_ < edges) {
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back(std::make_unique<FurtherEdge[]>(edges_in_block));
    for (std::size_t i = 0; i < edges_in_block; ++i) free_edge(blocks_.back()[i]);
  }
}

std::size_t Dependencies::most_edges(std::span<const OperandRef> operands) {
  std::size_t edges = operands.size();
  for (const OperandRef& ref : operands) {
    if (ref.access == Access::read) continue;
    const Storage& storage = *ref.impl->storage;
    ReaderLink reader{storage.last_reader, storage.last_reader_operand};
    for (; reader.number >= oldest_seen_ && reader.number != 0; ++edges) {
      reader = ring_.at(reader.number).reader(reader.operand);
    }
  }
  return edges;
}

void Dependencies::link(Operation& operation, std::span<const OperandRef> operands, Batch& batch) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandRef& ref = operands[i];
    Storage& storage = *ref.impl->storage;
    add_use(storage);
    const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
    if (writer != 0) depend_on(operation, writer, batch);  // results are mostly new: nothing has written them
    if (ref.access == Access::read) {
      operation.reader(static_cast<int>(i)) = {storage.last_reader, storage.last_reader_operand};
      storage.last_reader = operation.number;
      storage.last_reader_operand = static_cast<int>(i);
    } else {
      note_write(storage);
      depend_on_readers(operation, storage, batch);
      storage.last_writer.store(operation.number, std::memory_order_relaxed);
      storage.last_reader = 0;
    }
  }
}

void Dependencies::depend_on_readers(Operation& operation, const Storage& storage, Batch& batch) {
  ReaderLink reader{storage.last_reader, storage.last_reader_operand};
  // The youngest comes first: behind the first that is older than f all are finished, and their records may be gone.
  while (reader.number >= oldest_seen_ && reader.number != 0) {
    depend_on(operation, reader.number, batch);
    reader = ring_.at(reader.number).reader(reader.operand);
  }
}

void Dependencies::depend_on(Operation& operation, std::uint64_t number, Batch& batch) {
  profile::depends(operation.number, number);
  if (number == operation.number) return;
  const bool is_in_batch = batch.has(number);
  if (!is_in_batch) {
    // f rather than the operation's own mark: f is one cache line for many operations.
    if (number >= oldest_seen_) see_oldest();
    if (is_seen_finished(number)) return;
  }
  // The record is that operation's still: only this thread, holding the lock, could use it again.
  Operation& predecessor = ring_.at(number);
  // On one asynchronous device it is enough that the predecessor is issued.
  if (executor_of(operation).is_asynchronous() && &executor_of(operation) == &executor_of(predecessor)) {
    return depend_on_issue(operation, predecessor);
  }
  Edge& edge = new_edge(operation);
  edge.successor = &operation;
  if (!is_in_batch) return batch.tie(edge, number);
  // Nobody else comes to its list.
  edge.next = predecessor.successors.load(std::memory_order_relaxed);
  predecessor.successors.store(&edge, std::memory_order_relaxed);
}

// The edge stays with the operation even if the predecessor is issued already, as their queues may differ.
void Dependencies::depend_on_issue(Operation& operation, Operation& predecessor) {
  FurtherEdge& edge = new_further_edge(operation);
  edge.successor = &operation;
  edge.issued_after = predecessor.number;
  if (push(predecessor.successors_on_issue, edge)) ++operation.edge_count;
}

std::uint64_t Dependencies::tie(const Batch& batch) {
  for (const Batch::Tie& tied : batch.ties()) tie(*tied.edge, tied.predecessor);
  std::uint64_t ready = batch.ready();
  for (std::uint64_t tied = batch.tied(); tied != 0; tied &= tied - 1) {
    const int place = std::countr_zero(tied);
    if (end_linking(ring_.at(batch.first() + static_cast<std::uint64_t>(place)))) ready |= std::uint64_t{1} << place;
  }
  return ready;
}

// From here on others may come to the edge's operation.
void Dependencies::tie(Edge& edge, std::uint64_t predecessor) {
  // The record is still that operation's: one is used again only after oldest_seen_ has passed it.
  if (!is_seen_finished(predecessor) && push(ring_.at(predecessor).successors, edge)) return;
  // Relaxed: it is not the last one, as end_linking() comes after it.
  edge.successor->pending.fetch_sub(1, std::memory_order_relaxed);
}

// True if the operation waits for nothing any more.
bool Dependencies::end_linking(Operation& operation) {
  // Acquire-release: the last one to count down sees what all predecessors published, and publishes the record.
  const std::int32_t others = Operation::linking - operation.edge_count;
  return operation.pending.fetch_sub(others, std::memory_order_acq_rel) == others;
}

Edge& Dependencies::new_edge(Operation& operation) {
  const int place = operation.edge_count++;
  if (place < Operation::inline_edges) return operation.edge_space[static_cast<std::size_t>(place)];
  return new_further_edge(operation);
}

FurtherEdge& Dependencies::new_further_edge(Operation& operation) {
  FurtherEdge& edge = *free_edges_;
  free_edges_ = edge.next_owned;
  --free_edge_count_;
  edge.next_owned = operation.more_edges;
  edge.issued_after = 0;
  operation.more_edges = &edge;
  return edge;
}

void Dependencies::free_edge(FurtherEdge& edge) {
  edge.next_owned = free_edges_;
  free_edges_ = &edge;
  ++free_edge_count_;
}

void Dependencies::recycle(Operation& operation) {
  while (operation.more_edges != nullptr) {
    FurtherEdge& edge = *operation.more_edges;
    operation.more_edges = edge.next_owned;
    free_edge(edge);
  }
  operation.edge_count = 0;
  if (operation.has_more_operands()) {
    operation.more_operands.reset();
    operation.more_views.reset();
    operation.more_readers.reset();
  }
}

void Dependencies::forget() {
  see_oldest();  // no record tells of the numbers before
  free_edges_ = nullptr;
  free_edge_count_ = 0;
  blocks_.clear();
}

}  // namespace asyncgrad::detail
