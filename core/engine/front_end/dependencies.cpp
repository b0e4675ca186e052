#include "asyncgrad/core/engine/front_end/dependencies.h"

#include <array>
#include <bit>

#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

// Puts an edge into a list. False if the list is closed. Acquire: the caller sees the effects of the event that closed
// the list. Release: the edge, and the successor's entry, are seen whole.
bool push(std::atomic<Edge*>& list, Edge& edge) {
  Edge* first = list.load(std::memory_order_acquire);
  do {
    if (first == closed_list()) return false;
    edge.next = first;
  } while (!list.compare_exchange_weak(first, &edge, std::memory_order_release, std::memory_order_acquire));
  return true;
}

}  // namespace

void Dependencies::reserve(std::span<const OperandRef> operands, StagedOperations& staged) {
  const std::size_t edges = max_edges(operands);
  staged.reserve(edges);
  while (free_edge_count_ < edges) {
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back(std::make_unique<FurtherEdge[]>(edges_in_block));
    for (std::size_t i = 0; i < edges_in_block; ++i) free_edge(blocks_.back()[i]);
  }
}

std::size_t Dependencies::max_edges(std::span<const OperandRef> operands) {
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

void Dependencies::link(Operation& operation, std::span<const OperandRef> operands, StagedOperations& staged) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandRef& ref = operands[i];
    Storage& storage = *ref.impl->storage;
    add_use(storage);
    const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
    if (writer != 0) depend_on(operation, writer, staged);  // results are usually new, and nothing has written them
    if (ref.access == Access::read) {
      operation.reader(static_cast<int>(i)) = {storage.last_reader, storage.last_reader_operand};
      storage.last_reader = operation.number;
      storage.last_reader_operand = static_cast<int>(i);
    } else {
      note_write(storage);
      depend_on_readers(operation, storage, staged);
      storage.last_writer.store(operation.number, std::memory_order_relaxed);
      storage.last_reader = 0;
    }
  }
}

void Dependencies::depend_on_readers(Operation& operation, const Storage& storage, StagedOperations& staged) {
  ReaderLink reader{storage.last_reader, storage.last_reader_operand};
  // The youngest reader comes first. All readers after the first one that is older than f are finished, and their
  // entries may belong to other operations.
  while (reader.number >= oldest_seen_ && reader.number != 0) {
    depend_on(operation, reader.number, staged);
    reader = ring_.at(reader.number).reader(reader.operand);
  }
}

void Dependencies::depend_on(Operation& operation, std::uint64_t number, StagedOperations& staged) {
  profile::depends(operation.number, number);
  if (number == operation.number) return;
  const bool is_staged = staged.has(number);
  if (!is_staged) {
    // Reads f rather than the operation's own slot, because f is one cache line for many operations.
    if (number >= oldest_seen_) see_oldest();
    if (is_seen_finished(number)) return;
  }
  // The entry still belongs to that operation: only this thread, which holds the lock, could use it again.
  Operation& predecessor = ring_.at(number);
  // If both run on one asynchronous device, the successor only waits until the predecessor is issued.
  if (executor_of(operation).is_asynchronous() && &executor_of(operation) == &executor_of(predecessor)) {
    return depend_on_issue(operation, predecessor);
  }
  Edge& edge = new_edge(operation, number);
  edge.successor = &operation;
  if (!is_staged) return staged.tie(edge, number);
  // No other thread uses the list of a staged operation.
  edge.next = predecessor.successors.load(std::memory_order_relaxed);
  predecessor.successors.store(&edge, std::memory_order_relaxed);
}

// The edge stays with the operation even if the predecessor is issued already, because their queues may differ.
void Dependencies::depend_on_issue(Operation& operation, Operation& predecessor) {
  FurtherEdge& edge = new_further_edge(operation, predecessor.number);
  edge.successor = &operation;
  edge.until_issued = true;
  if (push(predecessor.successors_on_issue, edge)) ++operation.edge_count;
}

std::uint64_t Dependencies::tie(const StagedOperations& staged) {
  for (const StagedOperations::Tie& tied : staged.ties()) tie(*tied.edge, tied.predecessor);
  std::uint64_t ready = staged.ready();
  for (std::uint64_t tied = staged.tied(); tied != 0; tied &= tied - 1) {
    const int place = std::countr_zero(tied);
    if (end_linking(ring_.at(staged.first() + static_cast<std::uint64_t>(place)))) ready |= std::uint64_t{1} << place;
  }
  return ready;
}

// From here on other threads may use the entry of the edge's operation.
void Dependencies::tie(Edge& edge, std::uint64_t predecessor) {
  // The entry still belongs to that operation: an entry is used again only after oldest_seen_ has passed it.
  if (!is_seen_finished(predecessor) && push(ring_.at(predecessor).successors, edge)) return;
  // Relaxed: it is not the last one, as end_linking() comes after it.
  edge.successor->pending.fetch_sub(1, std::memory_order_relaxed);
}

// Returns true if the operation waits for nothing any more.
bool Dependencies::end_linking(Operation& operation) {
  // Acquire-release: the last one to count down sees what all predecessors published, and publishes the entry.
  const std::int32_t others = Operation::linking - operation.edge_count;
  return operation.pending.fetch_sub(others, std::memory_order_acq_rel) == others;
}

Edge& Dependencies::new_edge(Operation& operation, std::uint64_t predecessor) {
  const auto place = static_cast<std::size_t>(operation.edge_count++);
  if (place >= Operation::inline_edges) return new_further_edge(operation, predecessor);
  operation.distances[place] = static_cast<std::uint32_t>(operation.number - predecessor);
  return operation.edge_space[place];
}

FurtherEdge& Dependencies::new_further_edge(Operation& operation, std::uint64_t predecessor) {
  FurtherEdge& edge = *free_edges_;
  free_edges_ = edge.next_owned;
  --free_edge_count_;
  edge.next_owned = operation.more_edges;
  edge.predecessor = predecessor;
  edge.until_issued = false;
  operation.more_edges = &edge;
  return edge;
}

bool Dependencies::mark_needed(std::uint64_t number) {
  Awaited& awaited = ring_.awaited();
  const std::uint64_t oldest = see_oldest();
  std::array<std::uint64_t, 256> marked;
  std::size_t count = 0;
  int edges_left = 1024;  // an operation that writes what many have read has an edge for each of them
  bool fits = true;
  const auto mark = [&](std::uint64_t needed) {
    fits = --edges_left >= 0;
    // What another thread waits for is marked with all that it needs.
    if (!fits || needed < oldest || awaited.has(ring_.slot(needed)) || ring_.is_finished(needed)) return;
    fits = count < marked.size();
    if (!fits) return;
    awaited.mark(ring_.slot(needed));
    marked[count++] = needed;
  };
  mark(number);
  for (std::size_t i = 0; i < count && fits; ++i) {
    const Operation& operation = ring_.at(marked[i]);
    for (const std::uint32_t distance : operation.distances) {
      if (distance != 0 && fits) mark(marked[i] - distance);
    }
    for (const FurtherEdge* edge = operation.more_edges; edge != nullptr && fits; edge = edge->next_owned) {
      mark(edge->predecessor);
    }
  }
  if (fits) return true;
  for (std::size_t i = 0; i < count; ++i) awaited.clear(ring_.slot(marked[i]));
  return false;
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
  operation.distances = {};
  if (operation.has_more_operands()) {
    operation.more_operands.reset();
    operation.more_views.reset();
    operation.more_readers.reset();
  }
}

void Dependencies::forget() {
  see_oldest();  // no entry belongs to an older number
  free_edges_ = nullptr;
  free_edge_count_ = 0;
  blocks_.clear();
}

}  // namespace asyncgrad::detail
