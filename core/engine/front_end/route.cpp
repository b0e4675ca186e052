#include "asyncgrad/core/engine/front_end/route.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

const Kernel& kernel_of(const DeviceState& device, const Submission& submission) {
  const Op op = submission.op;
  const void* const attributes = submission.attributes;
  const Kernel& kernel =
      op == Op::elementwise
          ? device.backend->elementwise[static_cast<const ElementwiseAttributes*>(attributes)->formula]
          : device.backend->kernels[static_cast<std::size_t>(op)];
  if (kernel.run == nullptr)
    throw_error(op_name(op, attributes), fmt::format("has no kernel for {}", device.device.str()));
  return kernel;
}

const DeviceState& device_in_use(const Submission& submission, std::size_t operand) {
  const DeviceState& device = state_of(*submission.operands[operand].impl->storage);
  if (device.executor == nullptr) {
    throw_error(op_name(submission.op, submission.attributes),
                fmt::format("{} is not in use any more", device.device.str()));
  }
  return device;
}

}  // namespace

Route route_of(const Submission& submission) {
  const DeviceState& device = device_in_use(submission, 0);
  if (submission.op == Op::copy) {
    const DeviceState& from = device_in_use(submission, 1);
    const DeviceState& computing = from.is_asynchronous && !device.is_asynchronous ? from : device;
    if (&from != &device) return {kernel_of(computing, submission), *computing.copies};
  }
  return {kernel_of(device, submission), *device.executor};
}

}  // namespace asyncgrad::detail
