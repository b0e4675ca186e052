// Assignment to slices and to the elements at indices.
#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/shapes/selected.h"
#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The gradient in what was overwritten: dy, but zero where the value was written.
Tensor outside(const Tensor& dy, const Region& region) {
  Tensor dx = dy.detach().clone(Location());
  const Tensor nothing = zeros(region.shape, {.dtype = dy.dtype(), .device = dy.device()}, Location());
  copy_into(CopyKind::assign, dx, region, nothing, Into::copies, OldValue::unfinished, Location());
  if (records(dy)) {
    record(Recorded(Op::strided_copy).as("assign"), Location(), dx, {dy},
           differentiable([region](const Tensor& ddx, Gradients& gradients) {
             gradients(0, [&] { return outside(ddx, region); });
           }));
  }
  return dx;
}

// Writes the value, repeated to `shape`, to the elements in the region, which are as many.
void write(const Tensor& x, const Region& region, const Shape& shape, const Arg& value) {
  const TensorImpl &to = checked_operand(x, "assign"), &from = checked_operand(value, "assign");
  check_alike("assign", {{"x", to}, {"value", from}});
  Shape common = shape;
  if (!broadcast_into(common, from.shape) || common != shape) {
    throw_error("assign", fmt::format("the value {} cannot be repeated to the slice {}{}", from.shape.str(),
                                      shape.str(), broadcast_rule));
  }
  check_writable("assign", x, value);
  const Location& where = value.where();
  // Writing must not change what is read.
  Tensor source = to.storage == from.storage ? value->detach().clone(where) : value->detach();
  if (from.shape != shape) source = expand(Arg(source, where), shape);
  const bool is_recorded = records(x, value);
  copy_into(CopyKind::assign, x, region, source, Into::copies, OldValue::kept, where);
  if (!is_recorded) return;
  note_history(x);
  record(Recorded(Op::strided_copy).as("assign"), where, x, {x, value},
         differentiable([region, shape](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return outside(dy, region); });
           gradients(1, [&] { return sum_to(with_shape(part(dy, region), shape), gradients.shape(1)); });
         }));
}

void write(const Tensor& x, const Region& region, const Scalar& value) {
  const TensorImpl& to = checked_operand(x, "assign");
  static_cast<void>(number_in(to.dtype, value, "assign"));
  check_writable("assign", x, Tensor());
  const Tensor filled = full(region.shape, value, {.dtype = to.dtype, .device = to.device}, value.where());
  write(x, region, region.shape, Arg(filled, value.where()));
}

}  // namespace

void assign(const Tensor& x, const std::vector<Slice>& slices, const Arg& value) {
  const Region region = region_of("assign", checked_operand(x, "assign").shape, slices);
  write(x, region, region.shape, value);
}
void assign(const Tensor& x, const std::vector<Slice>& slices, const Scalar& value) {
  const CallSite site(value.where());
  write(x, region_of("assign", checked_operand(x, "assign").shape, slices), value);
}

Tensor& Tensor::assign(std::initializer_list<Index> indices, const Arg& value) {
  const Selection selection = selection_of("assign", checked_operand(*this, "assign").shape, indices);
  write(*this, selection.region, selection.shape, value);
  return *this;
}
Tensor& Tensor::assign(std::initializer_list<Index> indices, const Scalar& value) {
  const CallSite site(value.where());
  write(*this, selection_of("assign", checked_operand(*this, "assign").shape, indices).region, value);
  return *this;
}

}  // namespace asyncgrad
