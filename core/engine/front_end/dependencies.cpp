// How an operation gets its place in the ring and is linked to those that it depends on: the front end's part of the
// engine, all of it under the front end's lock.
#include <algorithm>
#include <cstring>
#include <utility>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

Operation& Engine::queue(Stream& stream, const Kernel& kernel, const Submission& submission) {
  const std::uint64_t number = next_.load(std::memory_order_relaxed);
  Operation& operation = ring_.at(number);
  // Workers had the records last: fetched early, their lines are here when their turn comes.
  prefetch_for_writing(ring_.at(number + 3));
  recycle(operation);
  operation.number = number;
  operation.stream.store(&stream, std::memory_order_relaxed);
  operation.invocation.op = submission.op;
  operation.invocation.kernel = &kernel;
  set_origin(operation.origin, submission.where);
  operation.invocation.origin = &operation.origin;
  std::memcpy(operation.attribute_space.data(), submission.attributes, submission.attribute_bytes);
  operation.invocation.attributes = operation.attribute_space.data();
  // Relaxed, this and what follows: other threads come to the record through lists of successors or the ready set, both
  // by release, when it is offered.
  operation.word.store(Progress::word_of(number, Progress::blocked), std::memory_order_relaxed);
  operation.pending.store(Operation::linking, std::memory_order_relaxed);
  operation.successors.store(nullptr, std::memory_order_relaxed);
  operation.failure.store(nullptr, std::memory_order_relaxed);
  operation.result.store(submission.operands[0].impl->storage, std::memory_order_relaxed);
  if (stream.is_asynchronous()) {
    // Whether two operations have the same attributes is told by all bytes.
    std::memset(operation.attribute_space.data() + submission.attribute_bytes, 0,
                max_attribute_bytes - submission.attribute_bytes);
    operation.successors_on_issue.store(nullptr, std::memory_order_relaxed);
    if (LaunchRegion* const region = LaunchRegion::current()) operation.region = region->shared_from_this();
  }
  take_places(operation, submission);
  make_room_for_operands(operation, submission.operands.size());
  next_.store(number + 1, std::memory_order_relaxed);
  link(operation, submission.operands);
  operation.kernel_tiles = kernel.tiles == nullptr ? 1 : std::max(1, kernel.tiles(operation.invocation.call()));
  operation.tiles = std::min(operation.kernel_tiles, Progress::most_tiles);
  const std::int64_t cost = operation.tiles == 1 ? cost_of(kernel, operation.invocation.call()) : INT64_MAX;
  operation.is_tiny = cost <= tiny_cost;
  operation.is_short = cost <= short_cost;
  return operation;
}

void Engine::make_room_for_operands(Operation& operation, std::size_t count) {
  Invocation& invocation = operation.invocation;
  invocation.operand_count = static_cast<int>(count);
  invocation.operands = operation.operand_space.data();
  invocation.views = operation.view_space.data();
  if (count > operation.operand_space.size()) {
    operation.more_operands = std::make_unique<Operand[]>(count);
    operation.more_views = std::make_unique<View[]>(count);
    operation.more_readers = std::make_unique<ReaderLink[]>(count);
    invocation.operands = operation.more_operands.get();
    invocation.views = operation.more_views.get();
  }
}

// Numbers in the orders of the devices that it touches, and what would be live on them now.
void Engine::take_places(Operation& operation, const Submission& submission) {
  const auto storage_of = [&submission](std::size_t operand) -> const Storage& {
    return *submission.operands[operand].impl->storage;
  };
  DeviceState& device = state_of(storage_of(0));
  operation.place = {&device, device.order == nullptr ? operation.number : device.order->take_number()};
  note_serial_level(device, operation.place.number);
  operation.queue = compute_queue;
  if (!has_orders_) return;
  operation.source.device = nullptr;
  if (submission.op != Op::copy) return;
  DeviceState& from = state_of(storage_of(1));
  if (&from == &device) return;
  operation.queue = device.is_asynchronous ? copy_in_queue : copy_out_queue;  // of the one that home_of_copy() chooses
  if (stream_of(operation).is_asynchronous()) {
    DeviceState& computing = device.is_asynchronous ? device : from;
    computing.copied_bytes.fetch_add(storage_of(&computing == &device ? 0 : 1).size_bytes, std::memory_order_relaxed);
  }
  operation.source = {&from, from.order->take_number()};
  note_serial_level(from, operation.source.number);
}

// Copies the operands into the record, which uses their storages from here on. Reads wait for the last write; writes
// wait for the last write and for every read since.
void Engine::link(Operation& operation, std::span<const OperandRef> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandRef& ref = operands[i];
    Storage& storage = *ref.impl->storage;
    set_operand(operation.invocation, i, ref);
    add_use(storage);
    const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
    if (writer != 0) depend_on(operation, writer);  // results are mostly new: nothing has written them
    if (ref.access == Access::read) {
      operation.reader(static_cast<int>(i)) = {storage.last_reader, storage.last_reader_operand};
      storage.last_reader = operation.number;
      storage.last_reader_operand = static_cast<int>(i);
    } else {
      note_write(storage);
      depend_on_readers(operation, storage);
      storage.last_writer.store(operation.number, std::memory_order_relaxed);
      storage.last_reader = 0;
    }
  }
}

void Engine::depend_on_readers(Operation& operation, const Storage& storage) {
  ReaderLink reader{storage.last_reader, storage.last_reader_operand};
  // Youngest first: behind the first that is older than f all are finished, and their records may be gone.
  while (reader.number >= oldest_seen_ && reader.number != 0) {
    depend_on(operation, reader.number);
    reader = ring_.at(reader.number).reader(reader.operand);
  }
}

void Engine::depend_on(Operation& operation, std::uint64_t number) {
  profile::depends(operation.number, number);
  if (number == operation.number) return;
  const bool is_held = held_.has(number);
  if (!is_held) {
    // f rather than the record: one line for many, and whoever waited for the operation has looked at it.
    if (number >= oldest_seen_) oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
    if (seen_finished(number)) return;
  }
  // The record is that operation's still: only this thread, holding the lock, could use it again.
  Operation& predecessor = ring_.at(number);
  // On one device it is enough that it is issued.
  if (stream_of(operation).is_asynchronous() && &stream_of(operation) == &stream_of(predecessor)) {
    return depend_on_issue(operation, predecessor);
  }
  Edge& edge = new_edge(operation);
  edge.successor = &operation;
  if (!is_held) return held_.tie(edge, number);
  // Nobody else comes to its list.
  edge.next = predecessor.successors.load(std::memory_order_relaxed);
  predecessor.successors.store(&edge, std::memory_order_relaxed);
}

// From here on others may come to the edge's operation.
void Engine::tie(Edge& edge, std::uint64_t number) {
  // Relaxed: not the last, as the front end comes after it.
  const auto is_finished = [&edge] { edge.successor->pending.fetch_sub(1, std::memory_order_relaxed); };
  if (seen_finished(number)) return is_finished();
  // Still that operation's record: whoever lets one be used again has seen that f has passed it.
  Operation& predecessor = ring_.at(number);
  // Acquire: a closed list means that the predecessor's results are there. Release: the edge, and the successor's
  // record, are seen whole.
  Edge* first = predecessor.successors.load(std::memory_order_acquire);
  do {
    if (first == closed_list()) return is_finished();
    edge.next = first;
  } while (!predecessor.successors.compare_exchange_weak(first, &edge, std::memory_order_release,
                                                         std::memory_order_acquire));
}

// True if the operation waits for nothing any more.
bool Engine::end_linking(Operation& operation) {
  // Acquire-release: the last one to count down sees what all predecessors published, and publishes the record.
  const std::int32_t others = Operation::linking - operation.edge_count;
  return operation.pending.fetch_sub(others, std::memory_order_acq_rel) == others;
}

// The edge stays with the operation, too, if the predecessor is issued already: their queues may differ.
void Engine::depend_on_issue(Operation& operation, Operation& predecessor) {
  FurtherEdge& edge = new_further_edge(operation);
  edge.successor = &operation;
  edge.issued_after = predecessor.number;
  // As in tie: closed means issued.
  Edge* first = predecessor.successors_on_issue.load(std::memory_order_acquire);
  do {
    if (first == closed_list()) return;
    edge.next = first;
  } while (!predecessor.successors_on_issue.compare_exchange_weak(first, &edge, std::memory_order_release,
                                                                  std::memory_order_acquire));
  ++operation.edge_count;
}

Edge& Engine::new_edge(Operation& operation) {
  const int place = operation.edge_count++;
  if (place < Operation::inline_edges) return operation.edge_space[static_cast<std::size_t>(place)];
  return new_further_edge(operation);
}

FurtherEdge& Engine::new_further_edge(Operation& operation) {
  if (free_edges_ == nullptr) {
    edge_blocks_.push_back(std::make_unique<FurtherEdge[]>(edges_in_block));
    for (int i = 0; i < edges_in_block; ++i) {
      edge_blocks_.back()[static_cast<std::size_t>(i)].next_owned = free_edges_;
      free_edges_ = &edge_blocks_.back()[static_cast<std::size_t>(i)];
    }
  }
  FurtherEdge& edge = *free_edges_;
  free_edges_ = edge.next_owned;
  edge.next_owned = operation.more_edges;
  edge.issued_after = 0;
  operation.more_edges = &edge;
  return edge;
}

// Takes back what the slot's last operation had beyond its record. All of its edges have been followed.
void Engine::recycle(Operation& operation) {
  while (operation.more_edges != nullptr) {
    FurtherEdge& edge = *operation.more_edges;
    operation.more_edges = edge.next_owned;
    edge.next_owned = free_edges_;
    free_edges_ = &edge;
  }
  operation.edge_count = 0;
  if (operation.has_more_operands()) {
    operation.more_operands.reset();
    operation.more_views.reset();
    operation.more_readers.reset();
  }
}

void Engine::note_serial_level(DeviceState& device, std::uint64_t number) {
  note_level(device);
  device.admission->queue(number, std::exchange(device.serial_since_queued, 0));
}

}  // namespace asyncgrad::detail
