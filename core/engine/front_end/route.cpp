#include "asyncgrad/core/engine/front_end/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

void throw_no_route(const DeviceState& device, const Submission& submission) {
  const std::string name = device.device.str();
  const std::string_view elsewhere =
      device.device.type == DeviceType::cpu ? "" : "; to(\"cpu\") copies a tensor to the CPU, which has one";
  // A kernel without an executor: the device went out of use, and may have come back since.
  const bool is_absent =
      device.executor.load(std::memory_order_relaxed) == nullptr || kernel_on(device, submission).run != nullptr;
  throw_error(op_name(submission.op, submission.attributes),
              is_absent ? name + " is not in use any more" : fmt::format("has no kernel for {}{}", name, elsewhere));
}

namespace {

const DeviceState& computing_copy(const Submission& submission) {
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  const DeviceState& from = state_of(*submission.operands[1].impl->storage);
  return from.is_asynchronous && !device.is_asynchronous ? from : device;
}

}  // namespace

Route route_of_copy(const Submission& submission) {
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  const DeviceState& from = state_of(*submission.operands[1].impl->storage);
  if (device.executor.load(std::memory_order_relaxed) == nullptr) throw_no_route(device, submission);
  if (from.executor.load(std::memory_order_relaxed) == nullptr) throw_no_route(from, submission);
  const DeviceState& computing = computing_copy(submission);
  const std::atomic<Executor*>& executor = &from == &device ? device.executor : computing.copies;
  return route_on(computing, executor.load(std::memory_order_relaxed), submission);
}

Route route_of_source(const Submission& submission) {
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  // Acquire: it is seen whole.
  return route_on(device, device.sources.load(std::memory_order_acquire), submission);
}

bool has_kernel(Op op, const Tensor& on) {
  return state_of(*on.impl()->storage).backend->kernels[static_cast<std::size_t>(op)].run != nullptr;
}

std::int64_t work_of(const Submission& submission) {
  const DeviceState& device =
      submission.op == Op::copy ? computing_copy(submission) : state_of(*submission.operands[0].impl->storage);
  const Kernel& kernel = kernel_on(device, submission);
  if (kernel.run == nullptr) throw_no_route(device, submission);
  const std::size_t count = submission.operands.size();
  std::vector<Operand> operands(count);
  std::vector<View> views(count);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    set_operand(operands[i], views[i], submission.operands[i]);
    bytes += value_bytes(views[i].shape, views[i].dtype);
  }
  const Invocation invocation{.kernel = &kernel,
                              .operands = operands.data(),
                              .views = views.data(),
                              .attributes = submission.attributes,
                              .operand_count = static_cast<int>(count),
                              .op = submission.op};
  return std::max(cost_of(kernel, invocation.call()), 16 * bytes);
}

Route route_of_collective(const Submission& submission) {
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  // Acquire: it is seen whole.
  return route_on(device, device.collectives.load(std::memory_order_acquire), submission);
}

}  // namespace asyncgrad::detail
