// Assignment to a slice.
#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/error.h"

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

}  // namespace

void assign(const Tensor& x, const std::vector<Slice>& slices, const Arg& value) {
  const TensorImpl &to = checked_operand(x, "assign"), &from = checked_operand(value, "assign");
  check_alike("assign", {{"x", to}, {"value", from}});
  const Region region = region_of("assign", to.shape, slices);
  Shape common = region.shape;
  if (!broadcast_into(common, from.shape) || common != region.shape) {
    throw_error("assign",
                fmt::format("the value {} cannot be repeated to the slice {}", from.shape.str(), region.shape.str()));
  }
  check_writable("assign", x, value);
  const Location& where = value.where();
  // Writing must not change what is read.
  Tensor source = to.storage == from.storage ? value->detach().clone(where) : value->detach();
  if (from.shape != region.shape) source = expand(Arg(source, where), region.shape);
  const bool is_recorded = records(x, value);
  copy_into(CopyKind::assign, x, region, source, Into::copies, OldValue::kept, where);
  if (!is_recorded) return;
  note_history(x);
  record(Recorded(Op::strided_copy).as("assign"), where, x, {x, value},
         differentiable([region](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return outside(dy, region); });
           gradients(1, [&] { return sum_to(part(dy, region), gradients.shape(1)); });
         }));
}

void assign(const Tensor& x, const std::vector<Slice>& slices, const Scalar& value) {
  const CallSite site(value.where());
  const TensorImpl& to = checked_operand(x, "assign");
  static_cast<void>(number_in(to.dtype, value, "assign"));
  const Region region = region_of("assign", to.shape, slices);
  check_writable("assign", x, Tensor());
  const Tensor filled = full(region.shape, value, {.dtype = to.dtype, .device = to.device}, value.where());
  assign(x, slices, Arg(filled, value.where()));
}

}  // namespace asyncgrad
