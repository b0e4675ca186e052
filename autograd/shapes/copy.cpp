#include "asyncgrad/autograd/copy.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

using namespace detail;

Tensor copy_of(const Tensor& x, DType dtype, Device device, Location where) {
  Tensor y = make_tensor(x.shape(), dtype, device);
  submit(Op::copy, {writes(y), reads(x)}, NoAttributes{}, where);
  return y;
}

}  // namespace

Tensor Tensor::clone(Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "clone");
  Tensor y = copy_of(*this, impl.dtype, impl.device, where);
  if (records(*this)) {
    record(Recorded(Op::copy).as("clone"), where, y, {*this},
           differentiable([](const Tensor& dy, Gradients& gradients) { gradients(0, [&] { return dy; }); }));
  }
  return y;
}

Tensor Tensor::to(DType dtype, Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "to");
  if (impl.dtype == dtype) return *this;
  Tensor y = copy_of(*this, dtype, impl.device, where);
  if (is_floating(dtype) && records(*this)) {
    record(Recorded(Op::copy).as("to"), where, y, {*this},
           differentiable([from = impl.dtype](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return dy.to(from); });
           }));
  }
  return y;
}

Tensor Tensor::to(Device device, Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "to");
  if (impl.device == device) return *this;
  Tensor y = copy_of(*this, impl.dtype, device, where);
  if (records(*this)) {
    record(Recorded(Op::copy).as("to"), where, y, {*this},
           differentiable([from = impl.device](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return dy.to(from); });
           }));
  }
  return y;
}

Tensor& Tensor::copy_(const Arg& source) {
  const TensorImpl &to = checked_operand(*this, "copy_"), &from = checked_operand(source, "copy_");
  const std::initializer_list<NamedOperand> operands = {{"target", to}, {"source", from}};
  check_alike("copy_", operands);
  if (to.shape != from.shape) {
    throw_error("copy_", fmt::format("shapes differ: {}; both are to have one shape",
                                     shapes_str({operands.begin(), operands.size()})));
  }
  check_writable("copy_", *this, source);
  if (&to == &from) return *this;
  submit(Op::copy, {writes(*this), reads(without_overlap(*this, source, source.where()))}, NoAttributes{},
         source.where());
  if (records(source)) {
    note_history(*this);
    record(Recorded(Op::copy).as("copy_"), source.where(), *this, {source},
           differentiable([](const Tensor& dy, Gradients& gradients) { gradients(0, [&] { return dy; }); }));
  } else if (grad_enabled()) {
    replace_node(*this, nullptr);
  }
  return *this;
}

Tensor& Tensor::fill_(const Scalar& value) {
  const CallSite site(value.where());
  const TensorImpl& impl = checked_operand(*this, "fill_");
  const Number number = number_in(impl.dtype, value, "fill_");
  check_writable("fill_", *this, Tensor());
  submit(Op::fill, {writes(*this)}, FillAttributes{number}, value.where());
  if (grad_enabled()) replace_node(*this, nullptr);
  return *this;
}

Tensor clone(const Arg& x) { return x->clone(x.where()); }
Tensor to(const Arg& x, DType dtype) { return x->to(dtype, x.where()); }
Tensor to(const Arg& x, Device device) { return x->to(device, x.where()); }

}  // namespace asyncgrad
