#include "asyncgrad/core/engine/device/device_queues.h"

#include <algorithm>
#include <utility>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

void DeviceQueues::make(const Backend& backend) {
  std::array<std::unique_ptr<DeviceQueue>, queue_count> made;
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = backend.make_queue(device_, static_cast<int>(i));
  for (std::size_t i = 0; i < made.size(); ++i) queues_[i].set_queue(std::move(made[i]));
}

void DeviceQueues::destroy() {
  for (Queue& queue : queues_) queue.set_queue(nullptr);
  events_.clear();  // which the queues may have been about to reach
  times_.clear();
}

void DeviceQueues::enter(std::shared_ptr<LaunchRegion> region) {
  if (region == region_) return;
  record(computing());
  computing().device_queue().set_graph(region == nullptr ? nullptr : region->graph);
  region_ = std::move(region);
}

bool DeviceQueues::was_call_left() const {
  return region_ != nullptr && !region_->is_open.load(std::memory_order_acquire);
}

// Only the launch thread completes operations, so that an unfinished one is still in its queue.
void DeviceQueues::wait_for_others(const Operation& operation, const Ring& ring) {
  for (const FurtherEdge* edge = operation.more_edges; edge != nullptr; edge = edge->next_owned) {
    if (!edge->until_issued || ring.is_finished(edge->predecessor)) continue;
    const Operation& other = ring.at(edge->predecessor);
    if (other.queue == operation.queue) continue;
    of(operation).device_queue().wait_for(of(other).event_after(other.ticket, events_));
  }
}

void DeviceQueues::wait_for_memory(const Operation& operation) {
  if (operation.queue != copy_in_queue || computing().is_empty()) return;
  if (operation.invocation.operands[0].storage->taken_by != operation.place.number) return;  // it was there
  of(operation).device_queue().wait_for_memory(computing().event_after(computing().next_ticket() - 1, events_));
}

void DeviceQueues::issue(const Operation& operation, const KernelCall& call, DeviceTimes::Span& times) {
  DeviceQueue& queue = of(operation).device_queue();
  const Invocation& invocation = operation.invocation;
  times = times_.begin(queue);
  queue.issue(op_name(invocation.op, invocation.attributes), *invocation.kernel, call);
  times_.end(queue, times);
}

void DeviceQueues::record(Queue& queue) {
  if (!has_failed_) queue.record(events_);
}

bool DeviceQueues::is_in_flight() const {
  return std::ranges::any_of(queues_, [](const Queue& queue) { return !queue.is_empty(); });
}

void DeviceQueues::drain() {
  for (Queue& queue : queues_) {
    record(queue);
    if (!has_failed_) queue.wait();
  }
}

}  // namespace asyncgrad::detail
