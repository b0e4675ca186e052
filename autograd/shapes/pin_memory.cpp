#include "asyncgrad/autograd/pin_memory.h"

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

using namespace detail;

Tensor pin_memory(const Arg& x) {
  const TensorImpl& impl = checked_operand(x, "pin_memory");
  if (impl.storage->is_pinned) return x;
  const Device device = impl.device.type == DeviceType::cpu ? impl.device : Device();
  Tensor y = make_pinned_tensor(impl.shape, impl.dtype, device);
  submit(Op::copy, {writes(y), reads(x)}, NoAttributes{}, x.where());
  if (records(x)) {
    record(Recorded(Op::copy).as("pin_memory"), x.where(), y, {x},
           differentiable([from = impl.device](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return dy.to(from); });
           }));
  }
  return y;
}

bool is_pinned(const Tensor& x) { return checked_impl(x, "is_pinned").storage->is_pinned; }

}  // namespace asyncgrad
