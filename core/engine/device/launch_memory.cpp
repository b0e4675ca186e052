#include "asyncgrad/core/engine/device/launch_memory.h"

#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

void LaunchMemory::grow_scratch(Queue& queue, std::int64_t size_bytes) {
  if (size_bytes <= queue.scratch.size_bytes()) return;
  give_back_scratch(queue);
  queue.scratch.take(device_, size_bytes);
}

// Memory that the queue of operations returns is free in the queue's order, as its operands are.
void LaunchMemory::give_back_scratch(Queue& queue) {
  if (queue.scratch.block() == nullptr) return;
  if (&queue != &queues_.computing()) queues_.drain();
  queue.scratch.give_back(device_);
}

// Copies keep their operands until they are complete, while f passes them when they are issued. Before f, these are the
// operands without a handle of the copies that are under way: serial levels count those that have one. An operation
// that starts early must fit beside all such operands that exist before f reaches it: at most the operands of all
// queued copies.
std::int64_t LaunchMemory::bytes_held(const Place& place) const {
  if (place.device != &device_) return 0;
  if (device_.order->oldest().load(std::memory_order_seq_cst) < place.number) {
    return device_.copied_bytes.load(std::memory_order_relaxed);  // it was raised before the operation was ready
  }
  std::int64_t bytes = 0;
  for (const int copies : {copy_in_queue, copy_out_queue}) {
    for (const IssuedQueue::Issued& copy : queues_.all()[static_cast<std::size_t>(copies)].all()) {
      for (const Operand& operand : ring_.at(copy.number).invocation.all_operands()) {
        const Storage& storage = *operand.storage;
        // If a handle is dropped at this moment, it existed when the operation in question was queued.
        if (storage.device == &device_ && !has_handle(storage)) bytes += storage.size_bytes;
      }
    }
  }
  return bytes;
}

}  // namespace asyncgrad::detail
