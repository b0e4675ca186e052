#include "asyncgrad/core/engine/front_end/idle.h"

#include <thread>

#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/front_end/waiting.h"
#include "asyncgrad/core/engine/schedule/executors.h"

namespace asyncgrad::detail {

void lock_when_idle(ProgramQueue& queue) {
  const ProgramQueue::IdleWanted wanted(queue);
  for (;;) {
    const std::uint64_t next = queue.next_number();
    wait_until(queue, {.number = next, .all = true}, next - 1);
    queue.lock().lock();
    if (queue.context().ring.oldest().load(std::memory_order_seq_cst) == queue.next_number()) break;
    queue.lock().unlock();
  }
  // A finished operation may not have retired yet: the thread that finished it may still use its entry.
  for (const Operation& operation : queue.context().ring.entries()) {
    while (operation.retired.load(std::memory_order_acquire) != operation.number) std::this_thread::yield();
  }
}

void lock_without_visitors(ProgramQueue& queue) {
  const ProgramQueue::IdleWanted wanted(queue);  // also between the tries
  for (lock_when_idle(queue); queue.context().executors.are_visited(); lock_when_idle(queue)) {
    queue.lock().unlock();
    std::this_thread::yield();
  }
}

void forget_levels(ProgramQueue& queue) {
  const SpinLockGuard lock(queue.lock());
  if (queue.context().ring.oldest().load(std::memory_order_seq_cst) != queue.next_number()) return;
  for (DeviceState* device : Devices::all()) device->forget_levels();
}

}  // namespace asyncgrad::detail
