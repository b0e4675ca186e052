// The route of an operation: its device, executor and kernel. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/schedule/executor.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

struct Route {
  const Kernel& kernel;
  Executor& executor;
};

[[noreturn]] void throw_no_route(const DeviceState& device, const Submission& submission);

// The kernel of an operation on this device, which may have none. Without the front end's lock, too.
inline const Kernel& kernel_on(const DeviceState& device, const Submission& submission) {
  const Backend& backend = *device.backend;
  return submission.op == Op::elementwise
             ? backend.elementwise[static_cast<const ElementwiseAttributes*>(submission.attributes)->formula]
             : backend.kernels[static_cast<std::size_t>(submission.op)];
}

// The route of an operation on this device. Its executor is there under the front end's lock.
// Throws Error if the device has none for it, or is not in use any more.
inline Route route_on(const DeviceState& device, Executor* executor, const Submission& submission) {
  const Kernel& kernel = kernel_on(device, submission);
  if (executor == nullptr || kernel.run == nullptr) throw_no_route(device, submission);
  return {kernel, *executor};
}

Route route_of_copy(const Submission& submission);
Route route_of_source(const Submission& submission);
Route route_of_collective(const Submission& submission);

// An operation runs where its operands are. A copy between two devices runs on the one that it writes, unless only the
// other one has queues of its own. Sources have an executor of their own, and so have collectives. Throws Error as route_on() does.
inline Route route_of(const Submission& submission) {
  if (submission.op == Op::copy) return route_of_copy(submission);
  if (submission.op == Op::source) return route_of_source(submission);
  if (submission.op == Op::collective) return route_of_collective(submission);
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  return route_on(device, device.executor.load(std::memory_order_relaxed), submission);
}

}  // namespace asyncgrad::detail
